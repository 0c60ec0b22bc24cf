"""Which of Pinot's indexes answers which predicate, by version.

Measured on 0.11.0 (samples README, model_check): an inverted index answers =, <>, IN and NOT IN and
never a range, LIKE or function; a range index answers ranges and never an equality; a sorted
column answers both.
"""

from __future__ import annotations

from starskip.sql.predicate import Leaf, Operator

_INVERTED = frozenset({Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN, Operator.NOT_IN})
_SERVED: dict[str, frozenset[Operator]] = {
    "inverted": _INVERTED,
    "range": frozenset({Operator.RANGE}),
    "sorted": _INVERTED | {Operator.RANGE},
}


def serves(index_kind: str, leaf: Leaf) -> bool:
    """Tell whether an index of ``index_kind`` (inverted, range, sorted) on the leaf's column answers it."""
    return bool(leaf.column) and leaf.operator in _SERVED[index_kind]
