"""``starskip retain``: delete old nights now, or list the nights that would be deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.to_stderr import warn
from starskip.errors import MissingSource, printable
from starskip.storage.artefact_store import CURRENT

if TYPE_CHECKING:
    from starskip.night.expire_snapshots import Tidied
    from starskip.settings.night_groups import RetentionSettings
    from starskip.storage.retention import OldParts
    from starskip.storage.stored_artefacts import StoredArtefact

_MAX_TABLES = 5


@click.command(name="retain")
@click.option("--config", required=True, type=click.Path(), help="Configuration file of the night (YAML).")
@click.option(
    "--nights",
    type=click.IntRange(min=1),
    metavar="N",
    help="Nights of advice to keep; the setting retention.nights if left out.",
)
@click.option(
    "--query-days",
    type=click.IntRange(min=1),
    metavar="N",
    help="Days of queries to keep; the setting retention.query_days if left out.",
)
@click.option("--dry-run", is_flag=True, help="Only list the nights that would be deleted.")
@format_option()
def retain(config: str, nights: int | None, query_days: int | None, dry_run: bool, output: str) -> None:
    """Keep the newest nights and delete the older ones, queries sooner than advice.

    The end of each night does the same. A program that reads an older night can finish: its files are
    deleted only after retention.vacuum_grace_hours (a setting), by the next night or the next call. A
    night that ran within that time stays, and so does the newest advice on each table, however old. The
    last lines say what the store holds.

    \b
    Examples:
      starskip retain --config night.yaml --dry-run
      starskip retain --config night.yaml --nights 90 --query-days 7
      starskip retain --config night.yaml --dry-run --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.night.configuration.night_from_config import NightArguments, night_from_config
    from starskip.night.expire_snapshots import expire_snapshots
    from starskip.night.stored_note import kept_words
    from starskip.storage.stored_artefacts import stored_artefacts

    now = datetime.now(UTC)
    asked = {"retention.nights": nights, "retention.query_days": query_days}
    arguments = NightArguments(now.date(), "by hand", now, settings=asked)
    night = night_from_config(config, arguments, os.environ)
    if not night.store.artefacts():
        place = night.store.storage.place
        raise MissingSource(
            f"nothing is stored at {place}: check `store.artefacts` in {config}", source=place
        )
    tidied = expire_snapshots(night, dry_run=dry_run)
    for warning in tidied.warnings:
        warn(warning, of="retain")
    kept = night.settings.retention
    stored = [replace(each, artefact=printable(each.artefact, 40)) for each in stored_artefacts(night.store)]
    document = {
        **_document(tidied),
        "kept_nights": kept.nights,
        "kept_query_days": kept.query_days,
        "dry_run": dry_run,
        "stored": [asdict(each) for each in stored],
    }
    lines = (
        *_lines(tidied, kept, dry_run=dry_run),
        *_stored_lines(stored, [kept_words(each, night.settings) for each in stored]),
    )
    echo_result(output, document, lambda: "\n".join(lines))


def _document(tidied: Tidied) -> dict[str, Any]:
    removed = tidied.vacuumed
    return {
        "nights": [
            {
                "run_date": run_date,
                "tables": sorted({table for each in old for table in each.parts}),
                "size_bytes": sum(each.size_bytes for each in old),
            }
            for run_date, old in _by_night(tidied)
        ],
        "size_bytes": tidied.retired.size_bytes,
        "files_removed": len(removed.removed) if removed else 0,
        "bytes_removed": removed.removed_bytes if removed else 0,
    }


def _lines(tidied: Tidied, kept: RetentionSettings, *, dry_run: bool) -> Iterator[str]:
    for run_date, old in _by_night(tidied):
        yield f"{run_date}  {_tables(old)}"
    count, size = len(tidied.retired.nights), tidied.retired.size_bytes
    nights_words = "1 night" if count == 1 else f"{count:,} nights"
    went = "would go" if dry_run else "went"
    stays = f"advice of {kept.nights:,} nights and queries of {kept.query_days:,} days stay"
    yield f"retain: {nights_words} {went}, {size:,} bytes; {stays}"
    if (removed := tidied.vacuumed) is not None:
        yield f"retain: {len(removed.removed):,} files removed, {removed.removed_bytes:,} bytes freed"


def _stored_lines(stored: Sequence[StoredArtefact], kept: Sequence[str]) -> Iterator[str]:
    yield f"{'artefact':<24} {'bytes':>16} {'nights':>7}  {'oldest':<10}  {'newest':<10}  {'tables':>6}  kept"
    for each, words in zip(stored, kept, strict=True):
        nights = "" if each.newest == CURRENT else f"{each.nights:,}"
        yield (
            f"{each.artefact:<24} {each.size_bytes:>16,} {nights:>7}  {each.oldest:<10}  {each.newest:<10}"
            f"  {each.tables:>6,}  {words}"
        )


def _by_night(tidied: Tidied) -> Iterator[tuple[str, list[OldParts]]]:
    for run_date in tidied.retired.nights:
        yield run_date, [each for each in tidied.retired.old if each.run_date == run_date]


def _tables(old: list[OldParts]) -> str:
    names = sorted({table for each in old for table in each.parts})
    more = f" and {len(names) - _MAX_TABLES} more" if len(names) > _MAX_TABLES else ""
    shown = ", ".join(printable(name, 60) for name in names[:_MAX_TABLES])
    return f"{shown}{more}: {sum(each.size_bytes for each in old):,} bytes"
