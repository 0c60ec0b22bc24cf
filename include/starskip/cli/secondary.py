"""``starskip secondary``: indexes that lead to rows: make them, keep them, ask them."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import click

from starskip.cli.lake_table import (
    as_output,
    echo_changed,
    echo_optimized,
    echo_refreshed,
    echo_vacuumed,
    of_grace,
    of_metadata,
    of_path,
)
from starskip.cli.progress import progress
from starskip.cli.spark_defaults import default_metadata_root
from starskip.errors import ConfigError, SourceError, printable
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.indexes.secondary import open_table
from starskip.indexes.secondary.indexed_table import Answer
from starskip.indexes.secondary.json_rows import json_rows
from starskip.indexes.secondary.lifecycle import (
    create_indexes,
    delete_indexes,
    describe_indexes,
    existing_indexes,
    index_storage,
    optimize_indexes,
    refresh_indexes,
    vacuum_indexes,
)
from starskip.indexes.secondary.secondary_index import secondary_index
from starskip.lake.open_table import FORMATS

_condition = click.argument("condition", metavar='"WHERE …"')
_spark = click.option(
    "--spark",
    "on_spark",
    is_flag=True,
    help="Run on Spark, as spark-defaults or spark-submit configure it, in place of this process.",
)
_file_format = click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="What the table is kept as, in place of what is found.",
)
_version = click.option(
    "--version",
    type=click.IntRange(0),
    metavar="N",
    help="Of a Delta table: that version instead of the newest.",
)


def _formats(*outputs: str) -> Callable[[Any], Any]:
    """Return the option --format of a command whose output has formats, as its table has."""
    of_tables = [each for each in FORMATS if each not in outputs]
    return click.option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice([*outputs, *of_tables]),
        callback=lambda _context, _option, given: (
            next((each for each in reversed(given) if each in outputs), outputs[0]),
            next((each for each in reversed(given) if each not in outputs), None),
        ),
        help=f"The output, {' or '.join(outputs)} ({outputs[0]} by default), or what the table is kept as; "
        "repeatable.",
    )


@click.group(name="secondary")
def secondary() -> None:
    """Index the rows of a table, so that a query reads only the row groups that hold its rows.

    \b
    Examples:
      starskip secondary create /lake/events --index btree:ts --index ngram:message --index rtree:lat,lng
      starskip secondary query /lake/events "ts >= '2026-11-01' AND message LIKE '%timeout%'" --limit 10
      starskip secondary explain /lake/events "ts >= '2026-11-01' AND contains(message, 'timeout')"
      starskip secondary refresh /lake/events

    PATH is the folder of a table of Parquet files, plain ones or Delta's, or its URL.
    """  # noqa: D301 - click reads the character \b as "keep these lines"


@secondary.command(name="create")
@of_path
@click.option(
    "--index",
    "indexes",
    multiple=True,
    required=True,
    metavar="KIND:COLUMN[:ARG]",
    help="btree:c, rtree:lat,lng, ngram:c[:n]; repeatable.",
)
@click.option("--primary", metavar="COLUMN", help="The clustering key; looked for, if left out.")
@_file_format
@_version
@of_metadata
@_spark
def create(
    path: str,
    indexes: Sequence[str],
    primary: str | None,
    file_format: str | None,
    version: int | None,
    root: str | None,
    on_spark: bool,
) -> None:
    """Create indexes beside those that are there; the files are read once for all of them.

    \b
    Examples:
      starskip secondary create /lake/events --index btree:ts --index btree:user.id
      starskip secondary create /lake/points --index rtree:lat,lng --primary ts
      starskip secondary create s3://lake/events --index btree:ts --spark
    """  # noqa: D301
    for each in indexes:
        try:
            secondary_index(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error
    with _engine("indexing", on_spark) as engine:
        done = create_indexes(
            path,
            indexes,
            root=_root(root),
            file_format=file_format,
            version=version,
            primary=primary,
            engine=engine,
        )
    echo_refreshed(done, ", ".join(done.indexes))


@secondary.command(name="refresh")
@of_path
@click.option("--full", is_flag=True, help="Read all files again.")
@_file_format
@_version
@of_metadata
@_spark
def refresh(
    path: str,
    full: bool,
    file_format: str | None,
    version: int | None,
    root: str | None,
    on_spark: bool,
) -> None:
    """Bring the indexes up to date; only files that are new or changed are read.

    \b
    Example:
      starskip secondary refresh /lake/events
    """  # noqa: D301
    _require_metadata(path, root)
    with _engine("indexing", on_spark) as engine:
        done = refresh_indexes(
            path,
            root=_root(root),
            in_full=full,
            file_format=file_format,
            version=version,
            engine=engine,
        )
    echo_refreshed(done, ", ".join(done.indexes))


@secondary.command(name="optimize")
@of_path
@of_metadata
@_spark
def optimize(path: str, root: str | None, on_spark: bool) -> None:
    """Merge what many refreshes have written into one run an index, without entries of files that are gone.

    \b
    Example:
      starskip secondary optimize /lake/events
    """  # noqa: D301
    _require_metadata(path, root)
    with _engine("merging", on_spark) as engine:
        version = optimize_indexes(path, root=_root(root), engine=engine)
    echo_optimized(version)


@secondary.command(name="delete")
@of_path
@click.option(
    "--index", "indexes", multiple=True, metavar="KIND:COLUMN", help="Repeatable; all indexes by default."
)
@of_metadata
def delete(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Have indexes be used no more; creating them again undoes it until a `vacuum`.

    \b
    Example:
      starskip secondary delete /lake/events --index btree:ts
    """  # noqa: D301
    _require_metadata(path, root)
    manifest = delete_indexes(path, indexes or None, root=_root(root))
    echo_changed(manifest.version, indexes, "deleted")


@secondary.command(name="vacuum")
@of_path
@of_grace
@of_metadata
def vacuum(path: str, grace_hours: float, root: str | None) -> None:
    """Remove deleted indexes for good, and files that nobody needs any more.

    \b
    Example:
      starskip secondary vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    if not any(index_storage(path, _root(root)).objects_below("")):
        _require_metadata(path, root)
    report = vacuum_indexes(path, grace=timedelta(hours=grace_hours), root=_root(root))
    echo_vacuumed(report)


@secondary.command(name="describe")
@of_path
@as_output
@of_metadata
def describe(path: str, output: str, root: str | None) -> None:
    """Show the indexes: files, rows, bytes, and the runs of each.

    \b
    Example:
      starskip secondary describe /lake/events --format json
    """  # noqa: D301
    document = _description(path, root)
    if output == "json":
        click.echo(json.dumps(document))
        return
    rows = "unknown" if document["rows"] is None else f"{document['rows']:,}"
    click.echo(f"{printable(document['path'])}: {document['files']:,} files, {rows} rows")
    click.echo(f"version {document['version']} in {printable(document['location'])}")
    _echo_indexes(document["indexes"])


@secondary.command(name="list")
@of_path
@as_output
@of_metadata
def list_indexes(path: str, output: str, root: str | None) -> None:
    """List the indexes, deleted ones too until a vacuum.

    \b
    Example:
      starskip secondary list /lake/events
    """  # noqa: D301
    indexes = _description(path, root)["indexes"]
    if output == "json":
        click.echo(json.dumps(indexes))
    else:
        _echo_indexes(indexes)


@secondary.command(name="explain")
@of_path
@_condition
@_formats("text", "json")
@_version
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
    _require_metadata(path, root)
    output, file_format = formats
    table = open_table(path, metadata_root=_root(root), file_format=file_format, version=version)
    document = table.explain(condition).to_document()
    if output == "json":
        click.echo(json.dumps(document))
        return
    for each in document["candidates"]:
        click.echo(
            f"{each['estimated_ms']:12,.3f} ms {each['estimated_rows']:14,} rows  {_names(each['path'])}"
        )
    click.echo(f"chosen: {_names(document['chosen'])}: {document['reason']}")


@secondary.command(name="query")
@of_path
@_condition
@click.option(
    "--columns", metavar="A,B", help="Columns of the answer, and fields a.b, comma separated; all by default."
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after so many rows.")
@click.option("--count", "is_count", is_flag=True, help="Tell how many rows there are, and none of them.")
@click.option(
    "--path",
    "forced",
    multiple=True,
    metavar="INDEX",
    help="Intersect these indexes in place of what would be chosen, or scan; repeatable.",
)
@_formats("json", "csv")
@_version
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
    """Print the rows that satisfy a condition, exactly those of a scan, in any order.

    \b
    Examples:
      starskip secondary query /lake/events "user_id = 17" --columns ts,message --format csv
      starskip secondary query /lake/events "ts < '2026-01-01' AND message LIKE '%x%'" --count
      starskip secondary query /lake/events "user_id = 17 AND ts > '2026-11-01'" --path btree:user_id
    """  # noqa: D301
    _require_metadata(path, root)
    named = None if columns is None else _column_names(columns)
    if named == []:
        raise click.BadParameter("names no column", param_hint="--columns")
    output, file_format = formats
    answer = open_table(path, metadata_root=_root(root), file_format=file_format, version=version).answer(
        condition, named, limit=limit, path=forced, is_count=is_count
    )
    if output == "csv":
        _echo_csv(answer, is_count=is_count)
    elif is_count:
        click.echo(json.dumps({"count": answer.count, "stats": answer.stats}))
    else:
        rows = json_rows(answer.rows)
        click.echo(
            json.dumps(
                {"columns": answer.rows.column_names, "rows": rows, "stats": answer.stats}, allow_nan=False
            )
        )


def _column_names(text: str) -> list[str]:
    """Return the names between commas; one in backticks may have commas in it."""
    found = re.findall(r"(?:`(?:[^`]|``)*`|[^,`]|`)+", text)
    return [name.strip() for name in found if name.strip()]


def _echo_csv(answer: Answer, *, is_count: bool) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if is_count:
        writer.writerows([["count"], [answer.count]])
        return
    writer.writerow(answer.rows.column_names)
    for row in json_rows(answer.rows):
        writer.writerow([json.dumps(each) if isinstance(each, (dict, list)) else each for each in row])


def _echo_indexes(indexes: Sequence[dict[str, Any]]) -> None:
    for each in indexes:
        click.echo(
            f"{each['index']}  {each['state']}, {each['size_bytes']:,} bytes in {each['runs']:,} runs, "
            f"{each['files_known']:,} files"
        )


def _names(path: Sequence[str]) -> str:
    return " ∩ ".join(path)


@contextmanager
def _engine(label: str, on_spark: bool) -> Iterator[Engine]:
    """Give this process, or Spark, which ends with the block if it was not there before."""
    if not on_spark:
        yield LocalEngine(lambda items: progress(label, items))
        return
    from starskip.spark.command_session import command_session
    from starskip.spark.spark_engine import SparkEngine

    with command_session(label) as session:
        yield SparkEngine(session)


def _description(path: str, root: str | None) -> dict[str, Any]:
    _require_metadata(path, root)
    return describe_indexes(path, root=_root(root))


def _require_metadata(path: str, root: str | None) -> None:
    """Raise SourceError for a table that is not there, or has no indexes."""
    try:
        existing_indexes(path, _root(root))
    except SourceError:
        if "://" not in path and not os.path.exists(path.removeprefix("file:")):  # noqa: PTH110
            raise SourceError(f"{path}: there is no such folder", source=path) from None
        raise


def _root(root: str | None) -> str | None:
    return root or default_metadata_root(os.environ)
