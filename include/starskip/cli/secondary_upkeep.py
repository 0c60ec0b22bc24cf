"""``starskip secondary optimize``, ``delete``, ``vacuum``, ``describe`` and ``list``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result
from starskip.cli.lake_table import metadata_root, of_some_indexes, require_table, table_command
from starskip.cli.progress import progress
from starskip.cli.shared_options import of_grace
from starskip.cli.spark_session import spark_session
from starskip.cli.table_results import echo_changed, echo_optimized, echo_vacuumed
from starskip.errors import SourceError, printable
from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.execution.engine import Engine

of_spark = click.option(
    "--spark",
    "on_spark",
    is_flag=True,
    help="Run on Spark, as spark-defaults or spark-submit configure it, in place of this process.",
)


@table_command("optimize", of_spark)
def optimize(path: str, output: str, root: str | None, on_spark: bool) -> None:
    """Merge the runs of many refreshes into one run for each index, without entries of deleted files.

    \b
    Example:
      starskip secondary optimize /lake/events
    """  # noqa: D301
    from starskip.secondary.lifecycle import optimize_indexes

    require_indexes(path, root)
    with chosen_engine("merging", on_spark) as engine:
        version = optimize_indexes(path, root=metadata_root(root), engine=engine)
    echo_optimized(version, output)


@table_command("delete", of_some_indexes)
def delete(path: str, indexes: Sequence[str], output: str, root: str | None) -> None:
    """Stop using indexes; creating them again undoes it until a `vacuum`.

    \b
    Example:
      starskip secondary delete /lake/events --index btree:ts
    """  # noqa: D301
    from starskip.secondary.lifecycle import delete_indexes

    require_indexes(path, root)
    manifest = delete_indexes(path, indexes or None, root=metadata_root(root))
    echo_changed(manifest, indexes, "deleted", output)


@table_command("vacuum", of_grace)
def vacuum(path: str, grace_hours: float, output: str, root: str | None) -> None:
    """Remove deleted indexes for good, and metadata files that are no longer needed.

    \b
    Example:
      starskip secondary vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    from starskip.secondary.lifecycle import index_storage, vacuum_indexes

    if not any(index_storage(path, metadata_root(root)).objects_below("")):
        require_indexes(path, root)
    report = vacuum_indexes(path, grace=timedelta(hours=grace_hours), root=metadata_root(root))
    echo_vacuumed(report, output)


@table_command("describe")
def describe(path: str, output: str, root: str | None) -> None:
    """Show the indexes: files, rows, bytes, and the runs of each.

    \b
    Example:
      starskip secondary describe /lake/events --format json
    """  # noqa: D301
    document = _description(path, root)
    rows = "unknown" if document["rows"] is None else f"{document['rows']:,}"
    lines = [
        f"{printable(document['path'])}: {document['files']:,} files, {rows} rows",
        f"version {document['version']} in {printable(document['location'])}",
        *_index_lines(document["indexes"]),
    ]
    echo_result(output, document, lambda: "\n".join(lines))


@table_command("list")
def list_indexes(path: str, output: str, root: str | None) -> None:
    """List the indexes; deleted indexes are listed until a vacuum.

    \b
    Example:
      starskip secondary list /lake/events
    """  # noqa: D301
    indexes = _description(path, root)["indexes"]
    echo_result(output, indexes, lambda: "\n".join(_index_lines(indexes)))


def _index_lines(indexes: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{each['index']}  {each['state']}, {each['size_bytes']:,} bytes in {each['runs']:,} runs, "
        f"{each['files_known']:,} files"
        for each in indexes
    ]


@contextmanager
def chosen_engine(label: str, on_spark: bool) -> Iterator[Engine]:
    """Yield this process, or Spark, which ends with the block if it was not running before."""
    if not on_spark:
        from starskip.execution.local_engine import LocalEngine

        yield LocalEngine(lambda items: progress(label, items))
        return
    with needing_extra("spark"):
        from starskip.spark.spark_engine import SparkEngine

    with spark_session(label) as session:
        yield SparkEngine(session)


def require_indexes(path: str, root: str | None, file_format: str | None = None) -> None:
    """Raise SourceError for a table that is missing, or has no indexes."""
    from starskip.secondary.lifecycle import existing_indexes

    try:
        existing_indexes(path, metadata_root(root), file_format)
    except SourceError:
        require_table(path)
        raise


def _description(path: str, root: str | None) -> dict[str, Any]:
    from starskip.secondary.lifecycle import describe_indexes

    require_indexes(path, root)
    return describe_indexes(path, root=metadata_root(root))
