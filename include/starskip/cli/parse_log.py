"""``starskip parse-log``: how many records a log holds, of which kind, and which were rejected."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.progress import progress
from starskip.cli.setting_option import setting_option
from starskip.cli.shared_options import format_modules
from starskip.cli.to_stderr import warn
from starskip.errors import printable
from starskip.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from starskip.pinot.logs.log_summary import LogSummary
    from starskip.pinot.logs.sampling_weights import SamplingSummary

SPLIT_BYTES = 64 * 1024 * 1024
STANDARD_INPUT = "-"
_HELD_INPUT = "starskip-standard-input-"
_ALL = sys.maxsize
_NUMBER = re.compile(r"-?\d+")


class _OptionalNumber(click.Command):
    """Accepts ``--rejected`` without its number, too: the next argument is then a path."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each bare ``--rejected`` the number that means all."""
        behind = [*args, ""][1:]
        given = [
            f"{word}={_ALL}" if word == "--rejected" and not _NUMBER.fullmatch(next_one) else word
            for word, next_one in zip(args, behind, strict=True)
        ]
        return super().parse_args(ctx, given)


@click.command(name="parse-log", cls=_OptionalNumber)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(allow_dash=True))
@format_option()
@click.option(
    "--rejected",
    type=click.IntRange(0),
    default=0,
    metavar="[N]",
    help="Show the first N rejected records with their reasons, literals masked; all without N.",
)
@setting_option("--message-field", "log.message_field", metavar="FIELD")
@setting_option("--formats", "log.formats", metavar="MODULE[,MODULE...]")
def parse_log(paths: Sequence[str], output: str, rejected: int, **options: str | None) -> None:
    """Count the records of Pinot broker logs and of JSON events.

    PATH is a file (plain, .gz or .zst), a folder, a glob in quotes, or - for standard input.

    \b
    Examples:
      starskip parse-log logs/broker-2026-11-18.log.gz
      starskip parse-log 'logs/*.log.gz' --format json
      starskip parse-log broker.log --rejected 5
      starskip parse-log --rejected broker.log
      kubectl logs -l component=broker --prefix | starskip parse-log -
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.pinot.logs.log_splits import log_splits
    from starskip.pinot.logs.log_summary import LogSummary, log_summary
    from starskip.pinot.logs.parse_records import parse_split
    from starskip.pinot.logs.rejected_records import not_understood_words
    from starskip.pinot.logs.sampling_weights import SamplingSummary, sampling_summary
    from starskip.storage.files.log_files import log_files

    summary, sampling = LogSummary(), SamplingSummary()
    left = rejected
    formats = format_modules(options["log__formats"])
    with _local_paths(paths) as given:
        splits = log_splits(log_files(given), SPLIT_BYTES, options["log__message_field"] or "", formats)
        for split in progress("reading", splits):
            for batch in parse_split(split):
                summary += log_summary(batch)
                sampling += sampling_summary(batch)
                if left:
                    left -= _show_rejected(batch, left, to_stderr=output == "json")
    if problem := not_understood_words(summary, Settings().gates.max_not_understood_ratio):
        warn(problem)
    echo_result(output, summary.to_json(), lambda: _text(summary, sampling))


@contextmanager
def _local_paths(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the paths, with the name of a file that holds standard input for ``-``."""
    if STANDARD_INPUT not in paths:
        yield paths
        return
    with NamedTemporaryFile(prefix=_HELD_INPUT) as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield [file.name if path == STANDARD_INPUT else path for path in paths]


def _show_rejected(batch: pa.RecordBatch, most: int, *, to_stderr: bool) -> int:
    """Print up to ``most`` of the rejected records of a batch, and return how many."""
    import pyarrow.compute as pc

    rows = batch.filter(pc.equal(batch.column("kind"), "rejected")).slice(0, most).to_pylist()
    for row in rows:
        click.echo(_example(row), err=to_stderr)
    return len(rows)


def _example(row: dict[str, object]) -> str:
    from starskip.sql.mask_unparsed import mask_unparsed

    text = mask_unparsed(str(row["query_text"] or ""))
    path = "standard input" if _HELD_INPUT in str(row["source_file"]) else row["source_file"]
    fault = f" ({row['line_format']})" if row["line_format"] else ""
    return printable(f"{path} at byte {row['source_position']}: {row['reason']}{fault}: {text}")


def _text(summary: LogSummary, sampling: SamplingSummary) -> str:
    from starskip.pinot.logs.log_summary import OWN_REPLAY

    lines = [
        f"{summary.records:,} records on {summary.lines:,} lines",
        f"{summary.queries:>12,} queries with counters",
    ]
    lines += [
        f"{n:>12,} {'left out' if reason == OWN_REPLAY else 'without counters'}: {reason}"
        for reason, n in summary.other.items()
    ]
    lines += [f"{n:>12,} unwrapped: {wrapper}" for wrapper, n in summary.wrapped.items()]
    lines += [f"{n:>12,} rejected: {reason}" for reason, n in summary.rejected.items()]
    if sampling.dropped_lines:
        lines.append(sampling.words)
    return "\n".join(lines)
