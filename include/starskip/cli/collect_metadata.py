"""``starskip collect-metadata``: the segments' facts on their columns, packed into one JSON file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import output_option, segments_option
from starskip.cli.progress import progress
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_names, tables_option
from starskip.cli.to_stderr import warn
from starskip.errors import printable

if TYPE_CHECKING:
    from starskip.pinot.segments.collect_packed_metadata import CollectedMetadata

SPELLINGS = {"-segments": "--segments", "-out": "--output", "-tables": "--tables", "-help": "--help"}
"""The options of Pinot's own CollectMetadataForIndexTuning."""


@click.command(name="collect-metadata", cls=SeveralValues, spellings=SPELLINGS)
@segments_option(required=True)
@output_option("FILE|DIR", "The file to write; in a folder it is called metadata.json.", required=True)
@tables_option("all that have a folder")
@format_option(note=" The file is always JSON.")
def collect_metadata(segments: str, target: str, tables: str, output: str) -> None:
    """Pack the metadata of tarred segments into one JSON file for `starskip tune --metadata`.

    The file has the shape of Pinot's CollectMetadataForIndexTuning, so each reads the other's. It holds
    columns of all types; the original leaves METRIC and DATE_TIME columns out. Segments are read as
    streams, nothing is unpacked. A damaged segment is named on stderr, and the others are packed. The
    file appears only when it is complete.

    \b
    Examples:
      starskip collect-metadata --segments /deep/store --output metadata.json
      starskip collect-metadata --segments /deep/store --output /tmp --tables lineitem,airlineStats
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.pinot.segments.collect_packed_metadata import collect_packed_metadata
    from starskip.pinot.segments.damaged_segment import damage_sentence

    if not segments.strip():
        raise click.BadParameter("give the folder with one folder a table", param_hint="--segments")
    if not target.strip() or "://" in target:
        raise click.BadParameter("give a file or folder of this machine", param_hint="--output")
    collected = collect_packed_metadata(segments, table_names(tables), Path(target), progress)
    for warning in collected.warnings:
        warn(printable(warning))
    for row in collected.damaged:
        warn(printable(damage_sentence(row)))
    echo_result(output, _document(collected), lambda: _text(collected))


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
