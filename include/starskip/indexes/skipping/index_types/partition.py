"""Index type ``partition:c``: the value of a column that is constant in a file (Hyperspace)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.index_types.min_max import MinMax, MinMaxClause
from starskip.indexes.skipping.ordered_values import equal, order_keys


class Partition(MinMax):
    """Metadata columns ``value``, null for several values or none, and ``values``, the number not null."""

    kind = "partition"

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Keep the value of files with only one."""
        found = super().finish(collected)
        one = equal(order_keys(found["min"]), order_keys(found["max"]))
        value = pc.if_else(pa.array(one), found["min"], pa.scalar(None, found["min"].type))
        return {"value": value, "values": found["values"]}

    def label(self, node: Expression) -> Clause | None:
        """Label what MinMax labels."""
        clause = super().label(node)
        if not isinstance(clause, MinMaxClause):
            return clause
        return MinMaxClause(clause.index, clause.comparison, "value", "value")
