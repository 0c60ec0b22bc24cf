"""Index type ``valuelist:c``: the distinct values of a file, which decide every labelled comparison exactly.

See "Extensible Data Skipping", table I.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.index_types.column_index import ColumnIndex
from starskip.indexes.skipping.value_sets import value_set_clause, with_valid_texts
from starskip.predicates.data_types import ORDERED
from starskip.predicates.expression import Expression


class ValueList(ColumnIndex):
    """Metadata column ``values``: the list of a file's values without null, null if unknown."""

    kind = "valuelist"
    families = ORDERED

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        return {"values": f"collect_set({columns[0]})"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        return {"values": with_valid_texts(collected["values"].combine_chunks())}

    def label(self, node: Expression) -> Clause | None:
        """Label all comparisons of the column, LIKE included, and IS NOT NULL."""
        return value_set_clause(self.specification, "values", self.comparison(node))
