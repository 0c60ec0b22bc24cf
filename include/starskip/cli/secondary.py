"""``starskip secondary``: indexes that lead to rows: create, refresh and query them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from starskip.cli.command_group import CommandGroup
from starskip.cli.format_option import output_or_table_format
from starskip.cli.lake_table import (
    metadata_root,
    of_metadata,
    of_path,
    of_version,
    output_and_table_format,
)
from starskip.cli.secondary_check import check
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
from starskip.cli.table_results import echo_refreshed
from starskip.errors import ConfigError
from starskip.lake.format_names import FORMATS

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
