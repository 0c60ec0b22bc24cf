"""Index types ``minmax:c``, the least and greatest value of a file, and ``partition:c``, its only value.

See "Extensible Data Skipping", table I (zone maps), and Hyperspace (PartitionSketch). Clauses rely only on
every value lying between the bounds, so wider bounds are correct, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.data_types import ORDERED
from starskip.predicates.expression import Expression
from starskip.predicates.like_pattern import like_prefix
from starskip.predicates.ordered_values import equal, is_text, mask_of, order_keys
from starskip.predicates.prefix_bounds import long_bounds_cut
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.value_ranges import bounds_judged, is_possible_known, possible_between


class MinMax(ColumnIndex):
    """Metadata columns ``min``, ``max`` and ``values``, the number of values that are not null.

    A file without values has null bounds and 0 ``values``; otherwise a null bound is unknown.
    """

    kind = "minmax"
    families = ORDERED

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        (column,) = columns
        return {"min": f"min({column})", "max": f"max({column})", "values": f"count({column})"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Shorten long texts to bounds of them."""
        found = dict(super().finish(collected))
        if is_text(found["min"].type) or pa.types.is_binary(found["min"].type):
            found["min"], found["max"] = long_bounds_cut(found["min"], found["max"])
        return found

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons, IN, IS NOT NULL, prefixes of texts, and NOT of any of these but LIKE."""
        found = self.comparison(node)
        if found is None:
            return None
        if found.operator is ComparisonOperator.LIKE:
            prefix = like_prefix(found.text, found.escape)
            if found.negated:
                return None
            found = Comparison(found.column, ComparisonOperator.STARTS_WITH, pa.array([prefix]))
        known = is_possible_known(found) or found.operator is ComparisonOperator.IS_NOT_NULL
        return MinMaxClause(self.specification, found) if known else None


class Partition(MinMax):
    """Metadata columns ``value``, null for several values or none, and ``values``, as in MinMax."""

    kind = "partition"

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Keep the value of files with only one."""
        found = super().finish(collected)
        one = equal(order_keys(found["min"]), order_keys(found["max"]))
        value = pc.if_else(pa.array(one), found["min"], pa.scalar(None, found["min"].type))
        return {"value": value, "values": found["values"]}

    def label(self, node: Expression) -> Clause | None:
        """Label as MinMax does."""
        clause = super().label(node)
        if not isinstance(clause, MinMaxClause):
            return clause
        return MinMaxClause(clause.index, clause.comparison, "value", "value")


@dataclass(frozen=True, slots=True)
class MinMaxClause(Clause):
    """Passes files where a value between the bounds can satisfy a comparison."""

    index: str
    comparison: Comparison
    least: str = "min"
    greatest: str = "max"
    values: str = "values"

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        if self.comparison.operator is ComparisonOperator.IS_NOT_NULL:
            return self._has_values(metadata)
        names = bounds_judged(self.comparison, self.least, self.greatest)
        least, greatest = (metadata.column(self.index, name) for name in names)
        possible = possible_between(self.comparison, least, greatest)
        # A bound implies a value: the third column is read only if a bound is null.
        return possible & self._has_values(metadata) if least.null_count else possible

    def _has_values(self, metadata: FileMetadata) -> Mask:
        values = metadata.column(self.index, self.values)
        return mask_of(pc.fill_null(pc.not_equal(values, 0), True))
