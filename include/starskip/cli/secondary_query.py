"""``starskip secondary explain`` and ``query``: ways to answer a condition, and its rows."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result, output_or_table_format
from starskip.cli.lake_table import metadata_root, of_condition, of_metadata, of_path, of_version
from starskip.cli.secondary_upkeep import require_indexes
from starskip.lake.format_names import FORMATS

if TYPE_CHECKING:
    from starskip.secondary.indexed_table import QueryResult


@click.command(name="explain")
@of_path
@of_condition
@output_or_table_format("text", "json", tables=FORMATS)
@of_version
@of_metadata
def explain(
    path: str,
    condition: str,
    formats: tuple[str, str | None],
    version: int | None,
    root: str | None,
) -> None:
    """Show every way to answer a condition, its estimated cost, and which one is chosen and why.

    \b
    Example:
      starskip secondary explain /lake/events "ts >= '2026-11-01' AND country = 'fr'" --format json
    """  # noqa: D301
    from starskip.secondary import open_table

    output, file_format = formats
    require_indexes(path, root, file_format)
    table = open_table(path, metadata_root=metadata_root(root), file_format=file_format, version=version)
    document = table.explain(condition).to_document()
    lines = [
        f"{each['estimated_ms']:12,.3f} ms {each['estimated_rows']:14,} rows  {_names(each['path'])}"
        for each in document["candidates"]
    ]
    lines.append(f"chosen: {_names(document['chosen'])}: {document['reason']}")
    echo_result(output, document, lambda: "\n".join(lines))


@click.command(name="query")
@of_path
@of_condition
@click.option(
    "--columns", metavar="A,B", help="Columns of the answer, and fields a.b, comma separated; all by default."
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after this many rows.")
@click.option("--count", "is_count", is_flag=True, help="Print the number of rows, and no rows.")
@click.option(
    "--path",
    "forced",
    multiple=True,
    metavar="INDEX",
    help="Force the path: the indexes to intersect, or scan; repeatable.",
)
@output_or_table_format("json", "csv", tables=FORMATS)
@of_version
@of_metadata
def query(
    path: str,
    condition: str,
    columns: str | None,
    limit: int | None,
    is_count: bool,
    forced: Sequence[str],
    formats: tuple[str, str | None],
    version: int | None,
    root: str | None,
) -> None:
    """Print the rows that satisfy a condition, the same rows as a scan returns, in any order.

    \b
    Examples:
      starskip secondary query /lake/events "user_id = 17" --columns ts,message --format csv
      starskip secondary query /lake/events "ts < '2026-01-01' AND message LIKE '%x%'" --count
      starskip secondary query /lake/events "user_id = 17 AND ts > '2026-11-01'" --path btree:user_id
    """  # noqa: D301
    from starskip.secondary import open_table

    output, file_format = formats
    require_indexes(path, root, file_format)
    named = None if columns is None else _column_names(columns)
    if named == []:
        raise click.BadParameter("names no column", param_hint="--columns")
    answer = open_table(
        path, metadata_root=metadata_root(root), file_format=file_format, version=version
    ).answer(condition, named, limit=limit, path=forced, is_count=is_count)
    if output == "csv":
        _echo_csv(answer, is_count=is_count)
    elif is_count:
        click.echo(json.dumps({"count": answer.count, "stats": answer.stats}))
    else:
        from starskip.secondary.json_rows import json_rows

        rows = json_rows(answer.rows)
        click.echo(
            json.dumps(
                {"columns": answer.rows.column_names, "rows": rows, "stats": answer.stats}, allow_nan=False
            )
        )


def _column_names(text: str) -> list[str]:
    """Return the names between commas; a name in backticks may contain commas."""
    found = re.findall(r"(?:`(?:[^`]|``)*`|[^,`]|`)+", text)
    return [name.strip() for name in found if name.strip()]


def _echo_csv(answer: QueryResult, *, is_count: bool) -> None:
    from starskip.secondary.json_rows import json_rows

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if is_count:
        writer.writerows([["count"], [answer.count]])
        return
    writer.writerow(answer.rows.column_names)
    for row in json_rows(answer.rows):
        writer.writerow([json.dumps(each) if isinstance(each, (dict, list)) else each for each in row])


def _names(path: Sequence[str]) -> str:
    return " ∩ ".join(path)
