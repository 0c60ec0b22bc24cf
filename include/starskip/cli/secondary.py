"""``starskip secondary``: indexes that lead to rows: create, refresh and query them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
    metadata_root,
    of_grace,
    of_metadata,
    of_path,
)
from starskip.cli.progress import progress
from starskip.cli.secondary_query import explain, of_version, query, require_indexes
from starskip.cli.seed_option import of_seed, seed_or_any
from starskip.errors import ConfigError, StarskipError, printable
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.extras import needing_extra
from starskip.lake.open_lake_table import FORMATS
from starskip.secondary.check_answers import UnlikeScan, check_answers
from starskip.secondary.check_indexes import check_indexes
from starskip.secondary.lifecycle import (
    create_indexes,
    delete_indexes,
    describe_indexes,
    index_storage,
    optimize_indexes,
    refresh_indexes,
    vacuum_indexes,
)
from starskip.secondary.secondary_index import secondary_index

_PREDICATES = 200
_FILES_NAMED = 5
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
    help="Format of the table; detected if left out.",
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

    PATH is the folder of a Delta or Iceberg table, or of plain files, or its URL: Parquet, and ORC by
    --format.
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
@click.option("--primary", metavar="COLUMN", help="The clustering key; detected if left out.")
@_file_format
@of_version
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
    """Add indexes to the table's; the files are read once for all new indexes.

    \b
    Examples:
      starskip secondary create /lake/events --index btree:ts --index btree:user.id
      starskip secondary create /lake/points --index rtree:lat,lng --primary ts
      starskip secondary create s3://lake/events --index btree:ts --spark
      starskip secondary create /lake/clicks --format orc --index btree:user
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
            root=metadata_root(root),
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
@of_version
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
    """Bring the indexes up to date; only new and changed files are read.

    \b
    Example:
      starskip secondary refresh /lake/events
    """  # noqa: D301
    require_indexes(path, root, file_format)
    with _engine("indexing", on_spark) as engine:
        done = refresh_indexes(
            path,
            root=metadata_root(root),
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
    """Merge the runs of many refreshes into one run for each index, without entries of deleted files.

    \b
    Example:
      starskip secondary optimize /lake/events
    """  # noqa: D301
    require_indexes(path, root)
    with _engine("merging", on_spark) as engine:
        version = optimize_indexes(path, root=metadata_root(root), engine=engine)
    echo_optimized(version)


@secondary.command(name="delete")
@of_path
@click.option(
    "--index", "indexes", multiple=True, metavar="KIND:COLUMN", help="Repeatable; all indexes by default."
)
@of_metadata
def delete(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Stop using indexes; creating them again undoes it until a `vacuum`.

    \b
    Example:
      starskip secondary delete /lake/events --index btree:ts
    """  # noqa: D301
    require_indexes(path, root)
    manifest = delete_indexes(path, indexes or None, root=metadata_root(root))
    echo_changed(manifest.version, indexes, "deleted")


@secondary.command(name="vacuum")
@of_path
@of_grace
@of_metadata
def vacuum(path: str, grace_hours: float, root: str | None) -> None:
    """Remove deleted indexes for good, and metadata files that are no longer needed.

    \b
    Example:
      starskip secondary vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    if not any(index_storage(path, metadata_root(root)).objects_below("")):
        require_indexes(path, root)
    report = vacuum_indexes(path, grace=timedelta(hours=grace_hours), root=metadata_root(root))
    echo_vacuumed(report)


@secondary.command(name="check")
@of_path
@click.option(
    "--predicates",
    type=click.IntRange(0, 100_000),
    default=_PREDICATES,
    show_default=True,
    metavar="N",
    help="How many random predicates are asked.",
)
@of_seed
@click.option("--format", "output", type=click.Choice(["json", "text"]), default="json", show_default=True)
@of_metadata
def check(path: str, predicates: int, seed: int | None, output: str, root: str | None) -> None:
    """Hold the indexes against the rows of the table, and print the first difference.

    Each row must have its entries, and each entry its row. Then random predicates of the table's own columns
    are asked: each index must find the rows that a scan finds. Exit code 3 if something differs.

    \b
    Examples:
      starskip secondary check /lake/events
      starskip secondary check /lake/events --predicates 2000 --seed 7
    """  # noqa: D301
    require_indexes(path, root)
    chosen = seed_or_any(seed)
    counts = check_indexes(path, root=metadata_root(root), watched=lambda files: progress("checking", files))
    try:
        found = check_answers(
            path,
            predicates=predicates,
            seed=chosen,
            root=metadata_root(root),
            watched=lambda files: progress("scanning", files),
        )
    except UnlikeScan as error:
        raise StarskipError(f"{error} (--seed {chosen} --predicates {predicates})") from None
    document = {
        "predicates": found.predicates,
        "entries": sum(counts.values()),
        "wrong": 0,
        "seed": chosen,
        "indexes": counts,
        "answers": found.asked,
        "files_not_indexed": len(found.beside),
    }
    if found.beside:
        some = ", ".join(printable(each, 200) for each in found.beside[:_FILES_NAMED])
        more = f" and {len(found.beside) - _FILES_NAMED:,} more" if len(found.beside) > _FILES_NAMED else ""
        click.echo(f"new or changed since the last refresh, and scanned by queries: {some}{more}", err=True)
    if output == "json":
        click.echo(json.dumps(document))
        return
    for index, entries in counts.items():
        click.echo(
            f"{index}  {entries:,} entries agree with the rows, {found.asked[index]:,} answers with a scan"
        )


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
    """List the indexes; deleted indexes are listed until a vacuum.

    \b
    Example:
      starskip secondary list /lake/events
    """  # noqa: D301
    indexes = _description(path, root)["indexes"]
    if output == "json":
        click.echo(json.dumps(indexes))
    else:
        _echo_indexes(indexes)


def _echo_indexes(indexes: Sequence[dict[str, Any]]) -> None:
    for each in indexes:
        click.echo(
            f"{each['index']}  {each['state']}, {each['size_bytes']:,} bytes in {each['runs']:,} runs, "
            f"{each['files_known']:,} files"
        )


@contextmanager
def _engine(label: str, on_spark: bool) -> Iterator[Engine]:
    """Yield this process, or Spark, which ends with the block if it was not running before."""
    if not on_spark:
        yield LocalEngine(lambda items: progress(label, items))
        return
    with needing_extra("spark"):
        from starskip.spark.command_session import command_session
        from starskip.spark.spark_engine import SparkEngine

    with command_session(label) as session:
        yield SparkEngine(session)


def _description(path: str, root: str | None) -> dict[str, Any]:
    require_indexes(path, root)
    return describe_indexes(path, root=metadata_root(root))


secondary.add_command(explain)
secondary.add_command(query)
