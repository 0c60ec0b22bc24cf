"""L and s of each leaf of a filter, from column facts and from what the log observed.

Automated Inverted Index Recommendation, II.3 A: L of a leaf is one entry a row, or the values a row of a
multi-value column; s is the share of rows that survives. Where no cardinality gives s (ranges, LIKE,
functions), it is estimated from the rows that passed the whole filter, else it is a stated default. Assumes
independent predicates and, as that page does, values of equal frequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from starskip.advisor.cost.leaf_masks import LEAST_UNKNOWN_RATIO, assumed_ratio
from starskip.advisor.cost.parser_selectivity import distinct_literals, equality_ratio
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.workload.shape_workload import Instance, Literals
from starskip.sql.predicate import (
    EQUALITIES,
    NEGATIONS,
    And,
    Constant,
    Filtered,
    Leaf,
    Not,
    Operator,
    Or,
    Predicate,
    leaves,
)
from starskip.sql.query_shape import QueryShape
from starskip.sql.redacted_text import is_redacted
from starskip.tables.table_overview import ColumnOverview, TableOverview

Ratios = npt.NDArray[np.float64]

_WITHOUT_SCAN = (Operator.IS_NULL, Operator.IS_NOT_NULL, Operator.OWN_INDEX)


@dataclass(frozen=True, slots=True)
class LeafEstimate:
    """One leaf without any index.

    ``entries_per_row``: L. ``surviving_ratios``: s, [instances]. ``sorted_ratio``: share of segments whose
    sort order answers the leaf; ``is_constant``: any sort order answers it, since there is one value.
    """

    entries_per_row: float
    surviving_ratios: Ratios
    sorted_ratio: float = 0.0
    is_constant: bool = False


def leaf_estimates(
    shape: QueryShape,
    instances: Mapping[Literals, Instance],
    table: TableOverview,
    rules: AccessRules,
) -> dict[Leaf, LeafEstimate]:
    """Return an estimate of every leaf of the shape's filter, over its instances in their order."""
    distinct = dict.fromkeys(leaves(shape.filter))
    found = {leaf: _estimate(leaf, list(instances), table, rules) for leaf in distinct}
    for leaf, ratios in _observed_ratios(shape, instances, table, found).items():
        before = found[leaf]
        found[leaf] = LeafEstimate(before.entries_per_row, ratios, before.sorted_ratio, before.is_constant)
    return found


def surviving_ratios(predicate: Predicate, estimates: Mapping[Leaf, LeafEstimate]) -> Ratios:
    """Return s of a predicate: the product for AND, ``1 - prod(1 - s)`` for OR."""
    match predicate:
        case Leaf():
            return estimates[predicate].surviving_ratios
        case And(children):
            return prod((surviving_ratios(child, estimates) for child in children), start=np.ones(()))
        case Or(children):
            missed = (1.0 - surviving_ratios(child, estimates) for child in children)
            return np.asarray(1.0 - prod(missed, start=np.ones(())))
        case Not(child):
            return 1.0 - surviving_ratios(child, estimates)
        case Filtered(rows, child):
            return surviving_ratios(rows, estimates) * surviving_ratios(child, estimates)
        case Constant(value):
            return np.array(float(value))


def _estimate(
    leaf: Leaf, literals: Sequence[Literals], table: TableOverview, rules: AccessRules
) -> LeafEstimate:
    column = table.columns.get(leaf.column)
    entries = 0.0 if leaf.operator in _WITHOUT_SCAN else column.entries_per_row if column else 1.0
    if column is None or not _is_known(leaf, column, literals):
        is_everything = leaf.operator is Operator.IS_NOT_NULL
        ratios = np.full(len(literals), 1.0 if is_everything else assumed_ratio(leaf.operator))
    else:
        is_negated = leaf.operator in NEGATIONS
        counts = (distinct_literals(leaf, each) for each in literals)
        ratios = np.array([equality_ratio(column, count, negated=is_negated) for count in counts])
    if column is None or not rules.order_serves(leaf):
        return LeafEstimate(entries, ratios)
    is_constant = column.sorted_ratio == 1 and column.cardinality is not None and column.cardinality <= 1
    return LeafEstimate(entries, ratios, column.sorted_ratio, is_constant)


def _is_known(leaf: Leaf, column: ColumnOverview | None, literals: Iterable[Literals]) -> bool:
    """Return whether cardinalities determine s; a list that was not logged has an unknown length."""
    if leaf.operator not in EQUALITIES or column is None or column.cardinality is None:
        return False
    is_list = leaf.operator in (Operator.IN, Operator.NOT_IN) and len(leaf.slots) == 1
    return not (is_list and any(is_redacted(each[leaf.slots[0].position]) for each in literals))


def _observed_ratios(
    shape: QueryShape,
    instances: Mapping[Literals, Instance],
    table: TableOverview,
    estimates: Mapping[Leaf, LeafEstimate],
) -> dict[Leaf, Ratios]:
    """Return s of the unknown parts of a top-level AND, so that the filter keeps the observed rows.

    Several unknown parts share the remaining ratio evenly. A LIMIT ends a query before all rows are seen.
    """
    parts = shape.filter.children if isinstance(shape.filter, And) else (shape.filter,)
    unknown = {
        part
        for part in parts
        if isinstance(part, Leaf)
        and part.operator not in _WITHOUT_SCAN
        and not _is_known(part, table.columns.get(part.column), instances)
    }
    if not unknown or shape.stops_early or not table.rows:
        return {}
    queries = np.array([max(instance.queries, 1) for instance in instances.values()])
    passed = np.array([instance.rows_scanned for instance in instances.values()]) / queries / table.rows
    known = surviving_ratios(And(tuple(part for part in parts if part not in unknown)), estimates)
    each = np.clip(passed / np.maximum(known, 1 / table.rows), 0.0, 1.0) ** (1 / len(unknown))
    return dict.fromkeys(unknown, np.clip(each, LEAST_UNKNOWN_RATIO, 1.0))
