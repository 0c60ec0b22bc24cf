"""Match aggregation queries to star-trees by the rules of a Pinot version, or give the reason for no match.

AggregationPlanNode and GroupByPlanNode look at a query once a segment: at its options and clauses, its
functions (StarTreeUtils.extractAggregationFunctionPairs), its filter (extractPredicateEvaluatorsMap). Then
they take the first tree of the configuration that has all columns and pairs (isFitForStarTree).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from starskip.errors import printable
from starskip.pinot.star_tree_filter import (
    Composite,
    LeafTruth,
    NotServed,
    composites,
    constant_value,
    open_truth,
)
from starskip.pinot.star_tree_rules import DEFAULT_PARAMETERS, FROM_DICTIONARY, StarTreeRules
from starskip.sql.predicate import And, Constant, Leaf, Not, Or, Predicate, columns_of
from starskip.sql.query_options import DEFAULTS, QueryOptions

Pair = tuple[str, str]
"""Function and column, as functionColumnPairs have them; the column of COUNT is always ``*``."""


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One aggregation: ``function`` in capitals without underscores and percentile.

    ``column`` is None where the argument is an expression, or there are several. ``parameter``: log2m of an
    HLL, or the compression of a t-digest, None where the query gives none. ``condition``: its FILTER.
    """

    function: str
    column: str | None
    parameter: float | None = None
    condition: Predicate | None = None


@dataclass(frozen=True, slots=True)
class PinotAggregation:
    """An aggregation query as Pinot plans it.

    ``group_by_columns``: the columns of all expressions of GROUP BY. ``is_grouped``: whether there is one.
    ``is_distinct``: SELECT DISTINCT, or a GROUP BY without any aggregation, which becomes one. ``options``:
    the query's. ``aggregated_columns``: the columns in its aggregations, also those that COUNT counts.
    """

    aggregations: tuple[Aggregation, ...]
    filter: Predicate = Constant(True)  # noqa: RUF009 - an immutable value
    group_by_columns: tuple[str, ...] = ()
    is_grouped: bool = False
    is_distinct: bool = False
    options: QueryOptions = DEFAULTS
    aggregated_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """Column properties of one segment: columns without a dictionary, and columns with several values a row.

    ``nulls``: columns with nulls. ``by_bitmap``: whether an index answers a leaf as a bitmap.
    """

    raw: frozenset[str] = frozenset()
    multi_value: frozenset[str] = frozenset()
    nulls: frozenset[str] = frozenset()
    by_bitmap: LeafTruth = open_truth
    truth: LeafTruth = open_truth


NO_FACTS = SegmentColumns()

WITHOUT_TREES = "use_star_tree"
"""The reason of queries with useStarTree=false."""


@dataclass(frozen=True, slots=True)
class TreePart:
    """Demand of one plan on a tree: the pairs of its functions, and the predicates by dimension, ANDed.

    ``condition``: the plan's FILTER, None without one.
    """

    pairs: tuple[Pair, ...]
    composites: tuple[Composite, ...]
    group_by_columns: tuple[str, ...]
    condition: Predicate | None = None

    @property
    def predicate_columns(self) -> tuple[str, ...]:
        """Return the columns of its filter."""
        return tuple(dict.fromkeys(each.column for each in self.composites))


def tree_parts(
    query: PinotAggregation, rules: StarTreeRules, facts: SegmentColumns = NO_FACTS
) -> tuple[TreePart, ...] | NotServed:
    """Return the demands of the plans of ``query``, one for each FILTER, or why trees are not used."""
    if not query.options.uses_star_tree:
        return NotServed(WITHOUT_TREES, "it does without star-trees (useStarTree=false)")
    if query.is_distinct:
        return NotServed(
            "distinct", "Pinot answers DISTINCT, and GROUP BY without aggregation, without trees"
        )
    if not query.aggregations:
        return NotServed("not_an_aggregation", "it selects rows")
    conditions = tuple(dict.fromkeys(each.condition for each in query.aggregations))
    if conditions != (None,) and not rules.filtered_aggregations:
        return NotServed("filter_clause", "it has FILTER, which star-trees take from Pinot 1.1 on")
    if query.options.handles_nulls and (lack := _nulls_lack(query, conditions, rules, facts)):
        return lack
    if not rules.trees_first and conditions == (None,) and not query.is_grouped:
        without = _without_scan(query, rules, facts)
        if without is not None:
            return without
    found = []
    for condition in conditions:
        part = _part(query, condition, rules, facts)
        if isinstance(part, NotServed):
            return part
        found.append(part)
    return tuple(found)


def stored_pair(function: str, column: str, rules: StarTreeRules) -> Pair:
    """Return the pair that Pinot looks for: COUNT of anything counts rows, some read another's state."""
    if function == "COUNT":
        return ("COUNT", "*")
    return (rules.stored.get(function, function), column)


def _part(
    query: PinotAggregation, condition: Predicate | None, rules: StarTreeRules, facts: SegmentColumns
) -> TreePart | NotServed:
    pairs: dict[Pair, None] = {}
    for each in query.aggregations:
        if each.condition != condition:
            continue
        if each.column is None:
            if each.function != "COUNT":
                return NotServed("expression", f"{printable(each.function, 60)} is of an expression")
            pairs[("COUNT", "*")] = None
            continue
        pair = stored_pair(each.function, each.column, rules)
        pairs[pair] = None
        kept = DEFAULT_PARAMETERS.get(pair[0])
        if rules.same_parameters and kept is not None and each.parameter not in (None, kept):
            return NotServed(
                "parameter",
                f"{pair[0]} is asked for with {each.parameter:g}, and trees keep {kept:g}: from Pinot 1.3 on "
                "they must be the same",
            )
    combined = query.filter if condition is None else And((query.filter, condition))
    found = composites(combined, rules, facts.truth)
    if isinstance(found, NotServed):
        return found
    part = TreePart(tuple(pairs), found, query.group_by_columns, condition)
    return _columns_lack(part, facts) or part


def _nulls_lack(
    query: PinotAggregation,
    conditions: Iterable[Predicate | None],
    rules: StarTreeRules,
    facts: SegmentColumns,
) -> NotServed | None:
    """Return why a query that handles nulls uses no tree, None if it does."""
    if not rules.where_no_nulls:
        return NotServed(
            "null_handling", "it handles nulls (enableNullHandling), as star-trees do from Pinot 1.3 on"
        )
    filters = (columns_of(each) for each in (query.filter, *conditions) if each is not None)
    asked = (*query.aggregated_columns, *query.group_by_columns, *chain.from_iterable(filters))
    name = next((name for name in asked if name in facts.nulls), None)
    if name is None:
        return None
    return NotServed(
        "null_handling", f"it handles nulls (enableNullHandling), and column {printable(name, 60)} has some"
    )


def _columns_lack(part: TreePart, facts: SegmentColumns) -> NotServed | None:
    dimensions = (*part.predicate_columns, *part.group_by_columns)
    columns = (*dimensions, *(column for _, column in part.pairs if column != "*"))
    for name in columns:
        if name in facts.multi_value:
            return NotServed("multi_value", f"column {printable(name, 60)} is multi-value")
    for name in dimensions:
        if name in facts.raw:
            return NotServed("raw_column", f"column {printable(name, 60)} has no dictionary")
    return None


def _without_scan(query: PinotAggregation, rules: StarTreeRules, facts: SegmentColumns) -> NotServed | None:
    """Return the reason if dictionaries, metadata or bitmaps answer before any tree is considered."""
    functions = [each.function for each in query.aggregations]
    matches_all = constant_value(query.filter, facts.truth) is True
    if (
        rules.counts_from_bitmaps
        and functions == ["COUNT"]
        and (matches_all or _is_bitmap(query.filter, facts))
    ):
        return NotServed("counted", "indexes count its rows without reading any")
    if not matches_all:
        return None
    for each in query.aggregations:
        if each.function == "COUNT":
            continue
        if each.column is None or each.function not in FROM_DICTIONARY or each.column in facts.raw:
            return None
    return NotServed("from_dictionary", "dictionaries and metadata answer it without reading any row")


def _is_bitmap(node: Predicate, facts: SegmentColumns) -> bool:
    """Return whether indexes answer all of ``node`` as bitmaps (canOptimizeCount)."""
    if constant_value(node, facts.truth) is not None:
        return True
    match node:
        case Leaf():
            return facts.by_bitmap(node) is True
        case Not(child):
            return _is_bitmap(child, facts)
        case And(children) | Or(children):
            return all(_is_bitmap(child, facts) for child in children)
    return False
