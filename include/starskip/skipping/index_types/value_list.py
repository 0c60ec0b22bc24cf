"""Index type ``valuelist:c``: the distinct values of a file, which decide every labelled comparison exactly.

See "Extensible Data Skipping", table I.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from starskip.predicates.data_types import ORDERED
from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.value_sets import value_set_clause, with_valid_texts


class ValueList(ColumnIndex):
    """Metadata column ``values``: the list of a file's values without null; null if unknown or too long."""

    kind = "valuelist"
    families = ORDERED

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"values": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        kind = schema.field("values").type
        return ValuesCollector("values", DistinctValues(kind), kind)

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        return {"values": with_valid_texts(collected["values"].combine_chunks())}

    def label(self, node: Expression) -> Clause | None:
        """Label all comparisons of the column, LIKE included, and IS NOT NULL."""
        return value_set_clause(self.specification, "values", self.comparison(node))
