"""The TableReader on Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as sql

from starskip.file_metadata.collect_order import Collection, CollectOrder
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.table_files import DamagedFiles, TableFiles
from starskip.file_metadata.table_source import TableSource
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.collect import collect
from starskip.spark.skipping.collect_footers import collect_footers, damaged_by_footers, footer_plan
from starskip.spark.skipping.collect_tasks import reading_failures
from starskip.spark.skipping.list_files import changed_since, list_files
from starskip.spark.skipping.table_relation import SCHEMA_OPTION, TEXT_FORMATS, ListedTable, TableRelation
from starskip.storage.staged_write import StagedWrite

_MOST_UNKNOWN_RATIO = 0.5
"""Share of files without bounds in their footers; with more of them the rows are read."""
_NO_PARQUET = "it is no Parquet file, or not a whole one"


class SparkReader:
    """Implements TableReader for one relation."""

    def __init__(self, relation: TableRelation) -> None:
        """Start without a listing."""
        self._relation = relation
        self._listed: ListedTable | None = None

    @property
    def source(self) -> TableSource:
        """See TableReader."""
        relation = self._relation
        options = dict(relation.options)
        if relation.file_format in TEXT_FORMATS:
            # A schema inferred at each refresh would change with the files.
            options[SCHEMA_OPTION] = json.dumps(relation.schema.jsonValue())
        return TableSource(relation.path, relation.file_format, relation.read_signature, options)

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:
        """See TableReader."""
        self._listed = list_files(self._relation, anew=anew, clock_behind_ms=clock_behind_ms)
        return self._listed.files

    def collect(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        """See TableReader; reads footers if most of them hold everything in the order."""
        listed = self._last()
        paths = joined(order.files, "path")
        at = match_paths(paths, listed.files.paths)
        wanted = np.asarray(paths.is_valid())
        read = np.zeros(len(listed.files.paths), np.bool_)
        read[at[wanted]] = True
        place = np.cumsum(read) - 1
        encoded = listed.encoded_paths(read).take(pa.array(place[at], mask=~wanted))
        plan = footer_plan(order, self._relation) if len(paths) else None
        if plan is not None:
            found = collect_footers(order, plan, encoded, self._relation, staged)
            _require_sound(paths, found.damaged)
            if found.unknown <= np.count_nonzero(wanted) * _MOST_UNKNOWN_RATIO:
                self._require_readable(order, encoded, at[sorted(found.unread)])
                return found.collection
        try:
            return collect(
                order, encoded, self._relation.of_indexes(order.indexes).rows_of(listed, read), staged
            )
        except DamagedFiles as error:
            # Spark stops at the first damaged file: finding others by their footers saves passes.
            _require_sound(paths, damaged_by_footers(order, encoded, self._relation, staged), error.reasons)
            raise

    def changed_files(self, chosen: Mask) -> pa.Array:
        """See TableReader."""
        return changed_since(self._last(), chosen)

    def _require_readable(
        self, order: CollectOrder, encoded: pa.Array, positions: npt.NDArray[np.int64]
    ) -> None:
        """Make Spark open files whose footers cannot be read here."""
        if not len(positions):
            return
        listed = self._last()
        chosen = np.zeros(len(listed.files.paths), np.bool_)
        chosen[positions] = True
        with reading_failures(order, encoded):
            # Unlike count(), it reports the cause of an error.
            self._relation.rows_of(listed, chosen).agg(sql.count(sql.lit(1))).toArrow()

    def _last(self) -> ListedTable:
        assert self._listed is not None
        return self._listed


def _require_sound(
    paths: pa.Array, damaged: Set[int], others: Mapping[str, str] = MappingProxyType({})
) -> None:
    reasons = {paths[position].as_py(): _NO_PARQUET for position in damaged}
    if reasons:
        raise DamagedFiles({**reasons, **others})
