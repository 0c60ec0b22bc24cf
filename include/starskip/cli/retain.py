"""``starskip retain``: delete old nights now, or list the nights that would be deleted."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import click

from starskip.errors import MissingSource, printable
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.expire_snapshots import expire_snapshots
from starskip.storage.retention import OldParts

_MAX_TABLES = 5


@click.command(name="retain")
@click.option("--config", required=True, type=click.Path(), help="Configuration file of the night (YAML).")
@click.option(
    "--nights", type=click.IntRange(min=1), help="Nights to keep; the setting retention.nights if left out."
)
@click.option("--dry-run", is_flag=True, help="Only list the nights that would be deleted.")
def retain(config: str, nights: int | None, dry_run: bool) -> None:
    """Keep the newest nights of every table and delete the older ones.

    The end of each night does the same. A program that reads an older night can finish: its files are
    deleted only after retention.vacuum_grace_hours (a setting), by the next night or the next call. A
    night that ran within that time stays, and so does the newest night of each table, however old.

    \b
    Examples:
      starskip retain --config night.yaml --dry-run
      starskip retain --config night.yaml --nights 30
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    now = datetime.now(UTC)
    arguments = NightArguments(now.date(), "by hand", now, settings={"retention.nights": nights})
    night = night_from_config(config, arguments, os.environ)
    if not night.store.artefacts():
        place = night.store.storage.place
        raise MissingSource(
            f"nothing is stored at {place}: check `store.artefacts` in {config}", source=place
        )
    tidied = expire_snapshots(night, dry_run=dry_run)
    for warning in tidied.warnings:
        click.echo(f"retain: warning: {warning}", err=True)
    for run_date in tidied.retired.nights:
        click.echo(f"{run_date}  {_tables([o for o in tidied.retired.old if o.run_date == run_date])}")
    count, size = len(tidied.retired.nights), tidied.retired.size_bytes
    nights_words = "1 night" if count == 1 else f"{count:,} nights"
    went = "would go" if dry_run else "went"
    kept = night.settings.retention.nights
    click.echo(f"retain: {nights_words} {went}, {size:,} bytes; each table keeps its newest {kept:,}")
    if tidied.vacuumed is not None:
        removed = tidied.vacuumed
        click.echo(f"retain: {len(removed.removed):,} files removed, {removed.removed_bytes:,} bytes freed")


def _tables(old: list[OldParts]) -> str:
    names = sorted({table for each in old for table in each.parts})
    more = f" and {len(names) - _MAX_TABLES} more" if len(names) > _MAX_TABLES else ""
    shown = ", ".join(printable(name, 60) for name in names[:_MAX_TABLES])
    return f"{shown}{more}: {sum(each.size_bytes for each in old):,} bytes"
