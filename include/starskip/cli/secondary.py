"""``starskip secondary``: indexes that lead to rows: create, refresh and query them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from starskip.cli.command_group import CommandGroup
from starskip.cli.format_option import echo_result, format_option, output_or_table_format
from starskip.cli.lake_table import (
    metadata_root,
    of_metadata,
    of_path,
    of_version,
    output_and_table_format,
)
from starskip.cli.progress import progress
from starskip.cli.secondary_query import explain, query
from starskip.cli.secondary_upkeep import (
    chosen_engine,
    delete,
    describe,
    list_indexes,
    of_spark,
    optimize,
    require_indexes,
    vacuum,
)
from starskip.cli.shared_options import of_seed, seed_or_any
from starskip.cli.table_results import echo_refreshed
from starskip.cli.to_stderr import note
from starskip.errors import ConfigError, StarskipError, printable
from starskip.lake.format_names import FORMATS

_PREDICATES = 200
_FILES_NAMED = 5


@click.command(name="check")
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
@format_option("json", "text")
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
    from starskip.secondary.check_answers import UnlikeScan, check_answers
    from starskip.secondary.check_indexes import check_indexes

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
        note(f"new or changed since the last refresh, and scanned by queries: {some}{more}")
    lines = [
        f"{index}  {entries:,} entries agree with the rows, {found.asked[index]:,} answers with a scan"
        for index, entries in counts.items()
    ]
    echo_result(output, document, lambda: "\n".join(lines))


_formats = output_or_table_format("text", "json", tables=FORMATS)


@click.group(name="secondary", cls=CommandGroup)
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
@_formats
@of_version
@of_metadata
@of_spark
def create(
    path: str,
    indexes: Sequence[str],
    primary: str | None,
    formats: tuple[str, str | None],
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
    from starskip.secondary.lifecycle import create_indexes
    from starskip.secondary.secondary_index import secondary_index

    for each in indexes:
        try:
            secondary_index(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error
    output, file_format = output_and_table_format(path, formats)
    with chosen_engine("indexing", on_spark) as engine:
        done = create_indexes(
            path,
            indexes,
            root=metadata_root(root),
            file_format=file_format,
            version=version,
            primary=primary,
            engine=engine,
        )
    echo_refreshed(done, output, ", ".join(done.indexes))


@secondary.command(name="refresh")
@of_path
@click.option("--full", is_flag=True, help="Read all files again.")
@_formats
@of_version
@of_metadata
@of_spark
def refresh(
    path: str,
    full: bool,
    formats: tuple[str, str | None],
    version: int | None,
    root: str | None,
    on_spark: bool,
) -> None:
    """Bring the indexes up to date; only new and changed files are read.

    \b
    Example:
      starskip secondary refresh /lake/events
    """  # noqa: D301
    from starskip.secondary.lifecycle import refresh_indexes

    output, file_format = output_and_table_format(path, formats)
    require_indexes(path, root, file_format)
    with chosen_engine("indexing", on_spark) as engine:
        done = refresh_indexes(
            path,
            root=metadata_root(root),
            in_full=full,
            file_format=file_format,
            version=version,
            engine=engine,
        )
    echo_refreshed(done, output, ", ".join(done.indexes))


for _each in (optimize, delete, vacuum, check, describe, list_indexes, explain, query):
    secondary.add_command(_each)
