"""``prefix:c:n``: the distinct first n characters of a file's texts (seed 003, table I and V-E)."""

from __future__ import annotations

from starskip.indexes.skipping.comparison import Comparison, Operator
from starskip.indexes.skipping.index_types.affix_index import AffixIndex
from starskip.indexes.skipping.like_pattern import like_prefix

_ORDERS = {
    Operator.BELOW: Operator.AT_MOST,
    Operator.AT_MOST: Operator.AT_MOST,
    Operator.AT_LEAST: Operator.AT_LEAST,
    Operator.ABOVE: Operator.AT_LEAST,
}


class Prefix(AffixIndex):
    """Prefixes know LIKE 'text%' and the orders."""

    kind = "prefix"
    sql_function = "left"
    operator = Operator.STARTS_WITH
    of_pattern = staticmethod(like_prefix)

    def of_affixes(self, found: Comparison) -> Comparison | None:
        """See AffixIndex; the prefixes of two texts are in their order, or equal."""
        if found.operator in _ORDERS:
            return Comparison(found.column, _ORDERS[found.operator], self.cut(found.values))
        return super().of_affixes(found)
