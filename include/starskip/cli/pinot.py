"""``starskip pinot``: read a live Pinot, and put advice into it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.command_group import CommandGroup
from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import output_option
from starskip.cli.pinot_apply import BROKER, CONTROLLER, apply, revert
from starskip.cli.progress import progress
from starskip.cli.setting_option import given_settings, setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_names, tables_option
from starskip.cli.to_stderr import warn
from starskip.errors import BAD_INPUT, TRY_AGAIN, printable
from starskip.extras import needing_extra
from starskip.settings import Settings

if TYPE_CHECKING:
    from starskip.pinot.cluster.pull_tables import PulledTables


@click.group(name="pinot", cls=CommandGroup)
def pinot() -> None:
    """Read a live Pinot, put approved advice into it, and take it back.

    Credentials come from the environment: STARSKIP_PINOT_TOKEN, or STARSKIP_PINOT_USER and
    STARSKIP_PINOT_PASSWORD.

    \b
    Examples:
      starskip pinot pull --controller http://pinot:9000 -o pulled
      starskip pinot apply --controller http://pinot:9000 --table events --recommendation tune.json
      starskip pinot revert --controller http://pinot:9000 --table events
    """  # noqa: D301 - click reads the character \b as "keep these lines"


pinot.add_command(apply)
pinot.add_command(revert)


@pinot.command(name="pull", cls=SeveralValues, spellings={"--out": "--output"})
@CONTROLLER
@BROKER
@output_option("DIR", "Folder to write: new, empty, or of a former pull.", required=True)
@tables_option("all that Pinot has")
@setting_option("--window-rows", "scoring.window_rows_per_table", metavar="N")
@setting_option("--sampled-segments", "scoring.max_sampled_segments", metavar="N")
@format_option()
def pull(controller: str, broker: str, target: str, tables: str, output: str, **settings_given: Any) -> None:
    """Write what the night reads of a live Pinot: configs, schemas, metadata and rows of segments.

    DIR/segments stands for the segments' folder, DIR/configs/*.json for the table configs. Of each segment
    the metadata is real, and some rows of some segments are read by SELECTs, one after the other: as many as
    the night samples. What an earlier pull wrote of a table is replaced when all of it is there. A table that
    cannot be read is named, and the others are pulled.

    \b
    Examples:
      starskip pinot pull --controller http://pinot:9000 -o pulled
      starskip pinot pull --controller http://pinot:9000 --broker http://pinot:8099 -o pulled --tables a,b
      starskip tune --log x.log --segments pulled/segments --table-config pulled/configs/*.json --index all
    """  # noqa: D301
    with needing_extra("pinot"):
        from starskip.pinot.cluster.open_cluster import open_cluster
        from starskip.pinot.cluster.pinot_address import pinot_address
        from starskip.pinot.cluster.pull_table import PullBounds
        from starskip.pinot.cluster.pull_tables import pull_tables
    from starskip.night.configuration.checked_overrides import checked_overrides

    if not target.strip() or "://" in target:
        raise click.BadParameter("give a folder of this machine", param_hint="--output")
    settings = checked_overrides(Settings(), given_settings(settings_given), origin="arguments")
    scoring = settings.scoring
    bounds = PullBounds(scoring.max_sampled_segments, scoring.window_rows_per_table)
    with open_cluster(pinot_address(controller, broker, os.environ)) as cluster:
        pulled = pull_tables(cluster, Path(target), table_names(tables), bounds, progress)
    for warning in _warnings(pulled):
        warn(printable(warning))
    for table, error in pulled.failures.items():
        click.echo(f"starskip: table {printable(table, 200)}: {error}", err=True)
    echo_result(output, _document(pulled, target), lambda: _text(pulled, target))
    if pulled.failures:
        click.get_current_context().exit(TRY_AGAIN if pulled.may_pass else BAD_INPUT)


def _warnings(pulled: PulledTables) -> list[str]:
    found = [f"table {table} is not in Pinot any more; what was pulled of it stays" for table in pulled.gone]
    for notes in pulled.notes.values():
        for note in notes:
            if note.tiers:
                found.append(
                    f"table {note.table}: tier {', '.join(note.tiers)} has indexes of its own, "
                    "which the advice leaves as they are"
                )
            if not note.all_segments:
                found.append(f"table {note.table} has no segments yet")
    return found


def _document(pulled: PulledTables, target: str) -> dict[str, Any]:
    return {
        "out": target,
        "tables": {table: [asdict(note) for note in notes] for table, notes in pulled.notes.items()},
        "failures": {table: str(error) for table, error in pulled.failures.items()},
        "gone": list(pulled.gone),
    }


def _text(pulled: PulledTables, target: str) -> str:
    lines = [printable(note.words) for notes in pulled.notes.values() for note in notes]
    return "\n".join([*lines, f"written to {printable(target)}"])
