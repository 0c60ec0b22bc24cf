"""Take Spark's own listing of a table's files anew, and restrict it to some of the files."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError

from starskip.errors import SourceError
from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.table_files import TableFiles
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.listed_files import listed_files
from starskip.spark.skipping.table_relation import ListedTable, TableRelation

_ASKED_ONE_BY_ONE = 200
"""With more files the whole table is listed anew."""


def list_files(relation: TableRelation, *, anew: bool, clock_behind_ms: int = 0) -> ListedTable:
    """List the files; unless ``anew``, Spark's listing from when it made the relation may serve.

    Files of a Delta or Iceberg table are the snapshot's. ``clock_behind_ms``: how far the clock that stamps
    the files is known to be behind this machine's. Raises SourceError for a file that Spark reads twice.
    """
    toolbox = JvmToolbox(relation.session)
    now_ms = int(time.time() * 1000)
    index = relation.relation.location()
    if relation.is_of_snapshot:
        pass  # Its files stay as they are.
    elif anew or relation.listed_ms is None or index.getClass().getSimpleName() != "InMemoryFileIndex":
        index = _fresh_index(relation, toolbox)
    else:
        now_ms = relation.listed_ms
    listed = listed_files(toolbox, index)
    files = TableFiles(listed.paths(), *listed.numbers(), now_ms - clock_behind_ms)
    if not _are_distinct(files.paths):
        raise SourceError(f"{relation.path}: Spark reads files of it twice", source=relation.path)
    return ListedTable(relation, toolbox, index, listed, files)


def _are_distinct(paths: pa.Array) -> bool:
    # Listings are mostly in order: comparing neighbours then shows duplicates without hashing.
    if pc.all(pc.less(paths[:-1], paths[1:])).as_py() is not False:
        return True
    return bool(pc.count_distinct(paths).as_py() == len(paths))


def changed_since(listed: ListedTable, chosen: Mask) -> pa.Array:
    """Return the paths of the chosen files that have changed or are gone."""
    before = listed.files
    if np.count_nonzero(chosen) <= _ASKED_ONE_BY_ONE:
        positions = np.flatnonzero(chosen)
        now = [_status(listed, path) for path in before.paths.take(pa.array(positions)).to_pylist()]
        then = zip(before.sizes[positions], before.modified_ms[positions], strict=True)
        changed = [(size, modified) != found for (size, modified), found in zip(then, now, strict=True)]
        return before.paths.take(pa.array(positions[np.array(changed, np.bool_)]))
    again = list_files(listed.relation, anew=True).files
    at = same_files(match_paths(before.paths, again.paths), before, again)
    return before.paths.filter(pa.array(chosen & (at < 0)))


def _status(listed: ListedTable, path: str) -> tuple[int, int] | None:
    session = listed.relation.session
    found = listed.toolbox.jvm.org.apache.hadoop.fs.Path(path)
    try:
        filesystem = found.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        status = filesystem.getFileStatus(found)
    except Py4JError:
        return None
    return status.getLen(), status.getModificationTime()


def _fresh_index(relation: TableRelation, toolbox: JvmToolbox) -> Any:
    package = getattr(toolbox.jvm, DATASOURCES)
    old = relation.relation.location()
    partitions = toolbox.jvm.scala.Option.empty()
    if old.getClass().getSimpleName() == "CatalogFileIndex":
        old = toolbox.all_partitions(old)
        partitions = toolbox.jvm.scala.Option.apply(old.partitionSpec())
    return package.InMemoryFileIndex(
        relation.session._jsparkSession,
        old.rootPaths(),
        relation.relation.options(),
        toolbox.jvm.scala.Option.apply(relation.relation.schema()),
        getattr(getattr(package, "NoopCache$"), "MODULE$"),
        partitions,
        toolbox.jvm.scala.Option.empty(),
    )
