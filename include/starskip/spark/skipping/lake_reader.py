"""The TableReader of Delta and Iceberg tables on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from starskip.file_metadata.collect_order import BOUNDS, Collection, CollectOrder, collection_of
from starskip.file_metadata.format_bounds import FormatBounds, without_bounds
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.table_files import TableFiles
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.write_collected import write_collected
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.given_files import hadoop_paths
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.lake_bounds import bounds_of
from starskip.spark.skipping.lake_columns import COLUMNS, columns_text
from starskip.spark.skipping.lake_relation import LakeRelation
from starskip.spark.skipping.listed_files import listed_files
from starskip.spark.skipping.spark_reader import SparkReader
from starskip.spark.skipping.table_relation import ListedTable
from starskip.storage.staged_write import StagedWrite

_AT_ONCE = 50_000
"""Files whose bounds are computed at once."""
_ALWAYS_MS = 1 << 62
"""A log gives a rewritten file another time, or commit: all files are old enough to be trusted."""


class LakeReader(SparkReader):
    """Implements TableReader for the data files of one snapshot."""

    def __init__(self, relation: LakeRelation, indexes: Sequence[SkippingIndex]) -> None:
        """Take the indexes that the metadata will have."""
        super().__init__(relation)
        self._of_lake = relation
        self._columns = columns_text(relation.known_columns(indexes))

    @property
    def source(self) -> TableSource:
        """See TableReader."""
        relation = self._of_lake
        table_format = relation.snapshot.table_format
        return TableSource(relation.path, table_format, relation.read_signature, {COLUMNS: self._columns})

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:  # noqa: ARG002 - TableReader's
        """Return the snapshot's files, the same ones each time."""
        if self._listed is None:
            toolbox = JvmToolbox(self._of_lake.session)
            index = self._of_lake.relation.location()
            listed = listed_files(toolbox, index)
            files = TableFiles(listed.paths(), *listed.numbers(), _ALWAYS_MS)
            self._listed = ListedTable(self._of_lake, toolbox, index, listed, files)
        return self._listed.files

    def collect(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        """See TableReader; the snapshot's own bounds of files are copied here, without a Spark job."""
        others, with_bounds = without_bounds(order)
        found: Collection = [{} for _ in order.row_counts]
        if others.indexes or others.with_files:
            found = self._collect_files(others, staged)
        if not with_bounds:
            return found
        mine = replace(order, indexes=(FormatBounds(),), with_files=False)
        bounds = collection_of(mine, list(write_collected(staged, order.row_counts, self._bounds(mine))))
        return [{**one, **other} for one, other in zip(found, bounds, strict=True)]

    def _collect_files(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        return super().collect(order, staged)

    def _bounds(self, order: CollectOrder) -> Iterator[tuple[int, Mapping[str, pa.Table]]]:
        snapshot = self._of_lake.snapshot
        paths = hadoop_paths(snapshot.files, self._of_lake.path)
        for start in range(0, len(order.files), _AT_ONCE):
            asked = joined(order.files.slice(start, _AT_ONCE), "path")
            yield start, {BOUNDS: bounds_of(snapshot, match_paths(asked, paths))}

    def changed_files(self, chosen: Mask) -> pa.Array:  # noqa: ARG002 - TableReader's
        """Return none: a snapshot's files do not change while they are read."""
        return pa.array([], pa.string())
