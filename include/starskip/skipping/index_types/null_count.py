"""Index type ``nulls:c``: the number of nulls in a column of any type (Hyperspace)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.predicates.comparison import ComparisonOperator
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import mask_of
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.column_index import ColumnIndex, check_column


class NullCount(ColumnIndex):
    """Metadata columns ``nulls`` and ``rows``."""

    kind = "nulls"

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        check_column(self, self.columns[0], data_types)

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        return {"values": f"count({columns[0]})", "rows": "count(1)"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        rows, values = collected["rows"].combine_chunks(), collected["values"].combine_chunks()
        return {"nulls": pc.subtract(rows, values), "rows": rows}

    def label(self, node: Expression) -> Clause | None:
        """Label IS NULL; all other comparisons need a value that is not null."""
        found = self.comparison(node)
        return (
            None
            if found is None
            else NullClause(self.specification, found.operator is ComparisonOperator.IS_NULL)
        )


@dataclass(frozen=True, slots=True)
class NullClause(Clause):
    """Passes files with a null (``of_null``), else files with a value that is not null."""

    index: str
    of_null: bool
    nulls: str = "nulls"

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        # A column that no segment has comes without a type.
        nulls, rows = (metadata.column(self.index, name).cast(pa.int64()) for name in (self.nulls, "rows"))
        found = pc.greater(nulls, 0) if self.of_null else pc.less(nulls, rows)
        return mask_of(pc.fill_null(found, True))
