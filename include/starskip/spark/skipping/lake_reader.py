"""The TableReader of Delta and Iceberg tables on Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_files import TableFiles
from starskip.indexes.skipping.metadata.table_source import TableSource
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.lake_columns import COLUMNS, columns_text
from starskip.spark.skipping.lake_relation import LakeRelation
from starskip.spark.skipping.list_files import ListedTable
from starskip.spark.skipping.listed_files import listed_files
from starskip.spark.skipping.spark_reader import SparkReader

_ALWAYS_MS = 1 << 62
"""A file of these formats is never written again, so that its time says nothing of its age."""


class LakeReader(SparkReader):
    """Implements TableReader for the data files of one snapshot."""

    def __init__(self, relation: LakeRelation, indexes: Sequence[SkippingIndex]) -> None:
        """Take the indexes that the metadata has afterwards."""
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

    def changed_files(self, chosen: Mask) -> pa.Array:  # noqa: ARG002 - TableReader's
        """Return none: a path is written once."""
        return pa.array([], pa.string())
