"""Whether a table is one of plain files, and not a folder of Delta's, Iceberg's or Hudi's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from starskip.lake.managed_table import managed_table, with_folders_above


def require_plain_files(spark: SparkSession, path: str, below: Iterable[str] = ()) -> None:
    """Raise SourceError for a path in a table of Delta, Iceberg or Hudi, as Hadoop's file systems tell.

    ``below``: folders below the path, of which none may be the folder of such a table.
    """
    jvm: Any = spark.sparkContext._jvm
    paths = jvm.org.apache.hadoop.fs.Path
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    try:
        filesystem = paths(path).getFileSystem(configuration)
        full = str(filesystem.makeQualified(paths(path)).toString())
    except Py4JError:
        # No path of any file system: what reads it says so.
        return

    def exists(name: str) -> bool:
        try:
            return bool(filesystem.exists(paths(name)))
        except Py4JError:
            # A folder above, say, that this user may not look into: nobody can tell.
            return False

    def names(folder: str) -> list[str]:
        try:
            return [str(status.getPath().getName()) for status in filesystem.listStatus(paths(folder))]
        except Py4JError:
            return []

    found = managed_table([*with_folders_above(full), *below], exists, names)
    if found is not None:
        raise found.refusal(path, is_itself=found.folder == full.rstrip("/"))
