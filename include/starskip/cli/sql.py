"""``starskip sql``: ask a star-tree in SQL."""

from __future__ import annotations

import csv
import json
import math
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.choice import Choice
from starskip.cli.format_option import format_option
from starskip.cli.to_stderr import note
from starskip.errors import MissingSource, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from starskip.star_tree.serving.answer_sql import Answer
    from starskip.star_tree.serving.tree_set import TreeSet

_CSV_NULL = "\\N"
_WIDEST_CELL = 60


@click.command(name="sql")
@click.option(
    "--star-tree",
    "directory",
    required=True,
    metavar="DIR",
    type=click.Path(),
    help="Folder that star-tree build wrote.",
)
@click.option(
    "--dialect",
    type=Choice(["pinot", "spark"]),
    default="pinot",
    show_default=True,
    help="SQL dialect of the query.",
)
@format_option("text", "json", "csv")
@click.argument("query", metavar='"SELECT …"')
def sql(directory: str, dialect: str, output: str, query: str) -> None:
    """Answer one aggregation query from the first star-tree that fits it.

    If trees were given a name (build --table), FROM must hold this name, in any case and with or without
    a database before it; otherwise FROM may hold any name. If DIR has trees of several tables, as the
    night's store has, FROM chooses the table. A query that no tree can answer is computed from the
    table's files, and the reason is shown. Approximate functions (DISTINCTCOUNTHLL, PERCENTILEEST,
    PERCENTILETDIGEST) come with the bound of their error.

    \b
    Examples:
      starskip sql --star-tree trees/sales "SELECT country, SUM(price) FROM sales GROUP BY country"
      starskip sql --star-tree trees/sales --format json "SELECT COUNT(*) FROM t WHERE day >= '2026-01-01'"
      starskip sql --star-tree trees/sales --dialect spark "SELECT approx_count_distinct(user) FROM sales"
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.star_tree.serving.answer_sql import answer_sql

    answer = answer_sql(_opened(directory, query, dialect), query, dialect)
    if output == "json":
        click.echo(json.dumps(_document(answer)))
    elif output == "csv":
        _write_csv(answer.table)
        _say(answer)
    else:
        click.echo(_text(answer.table))
        _say(answer)


def _opened(directory: str, query: str, dialect: str) -> TreeSet:
    from starskip.star_tree.query.query_table import asked_names
    from starskip.star_tree.query.sql_select import sql_select
    from starskip.star_tree.serving.tree_set import newest_snapshot, open_trees
    from starskip.storage.artefact_store import ArtefactStore
    from starskip.storage.storage_for import storage_for

    store = ArtefactStore(storage_for(directory))
    snapshot = newest_snapshot(store)
    if snapshot is None:
        raise MissingSource(
            f"{directory}: there is no star-tree; build one with starskip star-tree build", source=directory
        )
    named = asked_names(sql_select(query, dialect)) if len(snapshot.tables) > 1 else []
    return open_trees(store, named[0] if named else None)


def _document(answer: Answer) -> dict[str, Any]:
    document = {
        "columns": answer.table.column_names,
        "rows": [[_json_value(value) for value in row] for row in _rows(answer.table)],
        "star_tree": answer.star_tree,
        "reason": answer.reason,
        "documents_read": answer.documents_read,
        "documents_total": answer.documents_total,
    }
    if answer.approximations:
        document["approximations"] = [
            {"column": each.column, "bound": each.bound, "ratio": each.ratio, "confidence": each.confidence}
            for each in answer.approximations
        ]
    return document


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    # Columns may share a name, so rows cannot be dictionaries.
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _json_value(value: Any) -> Any:
    """Return a value that JSON can hold: decimals, dates, NaN and infinities become texts."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Decimal() | date() | datetime() | time() | timedelta():
            return _plain(value)
        case bytes():
            return value.hex()
    return value


def _plain(value: Any) -> str:
    # str() of a small decimal such as 0E-10 is not how anyone writes it.
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _cell(value: Any, null: str) -> str:
    if value is None:
        return null
    found = _json_value(value)
    return str(found).lower() if isinstance(found, bool) else str(found)


def _write_csv(table: pa.Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_cell(value, _CSV_NULL) for value in row] for row in _rows(table))


def _text(table: pa.Table) -> str:
    import pyarrow as pa

    is_number = [
        pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)
        for t in table.schema.types
    ]
    header = [printable(name, _WIDEST_CELL) for name in table.column_names]
    rows = [[printable(_cell(value, "null"), _WIDEST_CELL) for value in row] for row in _rows(table)]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join(lines)


def _say(answer: Answer) -> None:
    read, total = answer.documents_read, answer.documents_total
    if answer.star_tree:
        note(f"sql: {read:,} of {total:,} documents of the star-tree read")
    else:
        reason = printable(answer.reason or "")
        note(f"sql: {read:,} of {total:,} rows of the files read, since {reason}")
    for each in answer.approximations:
        note(f"sql: {printable(each.column, _WIDEST_CELL)} is approximate: {each.bound}")
