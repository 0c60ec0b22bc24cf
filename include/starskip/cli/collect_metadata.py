"""``starskip collect-metadata``: the segments' facts on their columns, packed into one JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from starskip.cli.progress import progress
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_names
from starskip.errors import printable
from starskip.pinot.segments.collect_packed_metadata import CollectedMetadata, collect_packed_metadata
from starskip.pinot.segments.damaged_segment import damage_sentence

SPELLINGS = {"-segments": "--segments", "-out": "--out", "-tables": "--tables", "-help": "--help"}
"""The options of Pinot's own CollectMetadataForIndexTuning."""


@click.command(name="collect-metadata", cls=SeveralValues, spellings=SPELLINGS)
@click.option("--segments", required=True, metavar="DIR", help="Folder of tableNameWithoutType/*.tar.gz.")
@click.option(
    "--out",
    required=True,
    metavar="FILE|DIR",
    help="The file to write; in a folder it is called metadata.json.",
)
@click.option("--tables", default="", help="Comma separated tables; all that have a folder if left out.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def collect_metadata(segments: str, out: str, tables: str, output: str) -> None:
    """Pack the metadata of tarred segments into one JSON file for `starskip tune --metadata`.

    The file has the shape of Pinot's CollectMetadataForIndexTuning, so each reads the other's. It holds
    columns of all types; the original leaves METRIC and DATE_TIME columns out. Segments are read as
    streams, nothing is unpacked. A damaged segment is named on stderr, and the others are packed. The
    file appears only when it is complete.

    \b
    Examples:
      starskip collect-metadata --segments /deep/store --out metadata.json
      starskip collect-metadata --segments /deep/store --out /tmp --tables lineitem,airlineStats
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    if not segments.strip():
        raise click.BadParameter("give the folder with one folder a table", param_hint="--segments")
    if not out.strip() or "://" in out:
        raise click.BadParameter("give a file or folder of this machine", param_hint="--out")
    collected = collect_packed_metadata(segments, table_names(tables), Path(out), progress)
    for warning in collected.warnings:
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    for row in collected.damaged:
        click.echo(f"starskip: warning: {printable(damage_sentence(row))}", err=True)
    click.echo(json.dumps(_document(collected)) if output == "json" else _text(collected))


def _document(collected: CollectedMetadata) -> dict[str, object]:
    return {
        "file": str(collected.path),
        "tables": {table: asdict(packed) for table, packed in collected.tables.items()},
        "damaged": [
            {"file": row["source_file"], "reason": row["reason"], "detail": row["detail"]}
            for row in collected.damaged
        ],
    }


def _text(collected: CollectedMetadata) -> str:
    lines = [
        f"{printable(table, 200)}: {packed.columns:,} columns of {packed.segments:,} segments,"
        f" {packed.rows:,} rows"
        for table, packed in collected.tables.items()
    ]
    if collected.damaged:
        lines.append(f"{len(collected.damaged):,} damaged segments left out")
    return "\n".join([*lines, f"written to {printable(str(collected.path))}"])
