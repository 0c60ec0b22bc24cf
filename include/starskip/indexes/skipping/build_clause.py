"""What a table's indexes know together of what a query asks."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.expression import Call, Expression
from starskip.indexes.skipping.failing_indexes import Failures, label_unless_failing
from starskip.indexes.skipping.generate_clause import generate_clause
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.indexes.skipping.user_functions import implications


def build_clause(
    indexes: Sequence[SkippingIndex], predicates: Sequence[Expression], failures: Failures | None = None
) -> Clause | None:
    """Return what the conjuncts of a query say of files by these indexes, None if nothing.

    Where ``failures`` is given, an index that fails is left out alone, now or when the clause is evaluated,
    and told there; else what it raises is raised.
    """
    if not predicates:
        return None
    # As one node: what two conjuncts say together of a row, an index may know without knowing either.
    whole = predicates[0] if len(predicates) == 1 else Call("And", tuple(predicates))
    labels = [index.label if failures is None else label_unless_failing(index, failures) for index in indexes]
    return generate_clause(whole, labels, implications())
