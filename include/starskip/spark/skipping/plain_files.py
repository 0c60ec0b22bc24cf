"""Refusal of folders of Delta, Iceberg and Hudi where plain files are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from starskip.errors import NotPlainFiles, printable
from starskip.lake.table_format import TableFormat, format_of
from starskip.spark.skipping.jvm_toolbox import jvm_names


def format_at(spark: SparkSession, path: str) -> TableFormat | None:
    """Return the table format of a folder, as Hadoop's file systems show it; None for plain files."""
    found = _Folders.of(spark, path)
    return None if found is None else found.format_of(found.full.rstrip("/"))


def require_plain_files(spark: SparkSession, path: str, below: Iterable[str] = ()) -> None:
    """Raise SourceError for a path in a table of Delta, Iceberg or Hudi, as Hadoop's file systems show.

    ``below``: folders below the path; none of them may be the folder of such a table.
    """
    found = _Folders.of(spark, path)
    if found is None:
        # No path of any file system: reading it will raise the error.
        return
    for folder in (*_with_folders_above(found.full), *below):
        table = found.format_of(folder)
        if table is not None:
            raise _refusal(path, table, is_itself=folder == found.full.rstrip("/"))


@dataclass(frozen=True, slots=True)
class _Folders:
    """Looks into folders of a path's Hadoop file system; ``full``: the qualified path."""

    filesystem: Any
    paths: Any
    full: str

    @classmethod
    def of(cls, spark: SparkSession, path: str) -> _Folders | None:
        jvm = jvm_names(spark.sparkContext._gateway)
        paths = jvm.org.apache.hadoop.fs.Path
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            filesystem = paths(path).getFileSystem(configuration)
            return cls(filesystem, paths, str(filesystem.makeQualified(paths(path)).toString()))
        except Py4JError:
            return None

    def format_of(self, folder: str) -> TableFormat | None:
        return format_of(folder, self._exists, self._names)

    def _exists(self, name: str) -> bool:
        try:
            return bool(self.filesystem.exists(self.paths(name)))
        except Py4JError:
            # For example a folder above that this user may not look into: its format is unknown.
            return False

    def _names(self, folder: str) -> list[str]:
        try:
            return [
                str(status.getPath().getName()) for status in self.filesystem.listStatus(self.paths(folder))
            ]
        except Py4JError:
            return []


def _refusal(path: str, found: TableFormat, *, is_itself: bool) -> NotPlainFiles:
    """Return the error for ``path``, which was asked for as plain files, with both ways out.

    ``is_itself``: the path is the table's folder, not a folder in it or above it.
    """
    table = f"{'an' if found.name == 'Iceberg' else 'a'} {found.name} table"
    where = f"holds {table}" if is_itself else f"has files of {table}, {printable(found.folder, 150)}"
    return NotPlainFiles(
        f"{printable(path, 200)}: {where}, and such files also hold deleted or superseded rows. "
        f'Either query it as {found.name} (spark.read.format("{found.spark_name}")), or write its current '
        "rows to a folder of plain files, and give that folder",
        source=path,
    )


def _with_folders_above(path: str) -> Iterator[str]:
    """Yield a path, or URL, and all folders above it, without slashes at their ends; not the root itself."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        scheme, rest = "", path
    rest = rest.rstrip("/")
    while rest.strip("/"):
        yield f"{scheme}{separator}{rest}" if separator else rest
        rest = rest.rpartition("/")[0].rstrip("/")
