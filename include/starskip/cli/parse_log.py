"""``starskip parse-log``: how many records a log holds, of which kind, and what was rejected."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from starskip.cli.progress import progress
from starskip.pinot.logs.log_files import log_files, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.sampling_summary import SamplingSummary, sampling_summary

SPLIT_BYTES = 64 * 1024 * 1024


@click.command(name="parse-log")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--rejected",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Show the first N rejected records with their reasons.",
)
def parse_log(paths: Sequence[str], output: str, rejected: int) -> None:
    """Count the records of Pinot broker logs and of JSON events.

    PATH is a file (plain, .gz or .zst), a folder, or a glob in quotes.

    \b
    Examples:
      starskip parse-log logs/broker-2026-11-18.log.gz
      starskip parse-log 'logs/*.log.gz' --format json
      starskip parse-log broker.log --rejected 5
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    summary, sampling = LogSummary(), SamplingSummary()
    examples: list[str] = []
    for split in progress("reading", log_splits(log_files(paths), SPLIT_BYTES)):
        for batch in parse_split(split):
            summary += log_summary(batch)
            sampling += sampling_summary(batch)
            if len(examples) < rejected:
                wanted = rejected - len(examples)
                rows = (row for row in batch.to_pylist() if row["kind"] == "rejected")
                examples.extend(_example(row) for row, _ in zip(rows, range(wanted), strict=False))
    if output == "json":
        click.echo(json.dumps(summary.to_json()))
    else:
        click.echo(_text(summary, sampling))
    for example in examples:
        click.echo(example, err=True)


def _example(row: dict[str, object]) -> str:
    from starskip.errors import printable
    from starskip.reports.masking import mask_literals

    text = mask_literals(str(row["query_text"] or ""), limit=200)
    return printable(f"{row['source_file']} at byte {row['source_position']}: {row['reason']}: {text}")


def _text(summary: LogSummary, sampling: SamplingSummary) -> str:
    lines = [
        f"{summary.records:,} records on {summary.lines:,} lines",
        f"{summary.queries:>12,} queries with counters",
    ]
    lines += [f"{n:>12,} without counters: {reason}" for reason, n in summary.other.items()]
    lines += [f"{n:>12,} rejected: {reason}" for reason, n in summary.rejected.items()]
    if sampling.dropped_lines:
        lines.append(sampling.words)
    return "\n".join(lines)
