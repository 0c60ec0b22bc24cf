"""The TableReader that lists and reads a table by Spark."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from starskip.artefacts.aside import Aside
from starskip.skipping.file_metadata import Mask
from starskip.skipping.metadata.collect_order import Collection, CollectOrder
from starskip.skipping.metadata.file_listing import FileListing
from starskip.skipping.metadata.match_paths import match_paths
from starskip.skipping.metadata.metadata_files import joined
from starskip.skipping.metadata.table_source import TableSource
from starskip.spark.skipping.collect import collect
from starskip.spark.skipping.collect_footers import collect_footers, footer_plan
from starskip.spark.skipping.list_files import ListedTable, changed_since, list_files
from starskip.spark.skipping.table_relation import SCHEMA_OPTION, TEXT_FORMATS, TableRelation

_MOST_UNKNOWN_RATIO = 0.5
"""Of files of whose bounds the footers do not tell; with more of them the rows are read."""


class SparkReader:
    """Implements TableReader for one relation."""

    def __init__(self, relation: TableRelation) -> None:
        """List nothing yet."""
        self._relation = relation
        self._listed: ListedTable | None = None

    @property
    def source(self) -> TableSource:
        """See TableReader."""
        relation = self._relation
        options = dict(relation.options)
        if relation.file_format in TEXT_FORMATS:
            # Told from the files each time, it would be another one as soon as the files are others.
            options[SCHEMA_OPTION] = json.dumps(relation.schema.jsonValue())
        return TableSource(relation.path, relation.file_format, relation.fingerprint, options)

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> FileListing:
        """See TableReader."""
        self._listed = list_files(self._relation, anew=anew, clock_behind_ms=clock_behind_ms)
        return self._listed.files

    def collect(self, order: CollectOrder, aside: Aside) -> Collection:
        """See TableReader; from footers, where they tell all that is ordered, of most files."""
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
            collection, unknown = collect_footers(order, plan, encoded, self._relation, aside)
            if unknown <= np.count_nonzero(wanted) * _MOST_UNKNOWN_RATIO:
                return collection
        return collect(order, encoded, self._relation.rows(listed.index_of(read)), aside)

    def changed_files(self, chosen: Mask) -> pa.Array:
        """See TableReader."""
        return changed_since(self._last(), chosen)

    def _last(self) -> ListedTable:
        assert self._listed is not None
        return self._listed
