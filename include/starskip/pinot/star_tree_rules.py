"""Rules of Pinot's star-tree matcher, by release.

Read in the source of the release tags 0.3.0 to 1.5.1 (StarTreeUtils, AggregationPlanNode and GroupByPlanNode,
AggregationFunctionUtils, StarTreeFilterOperator); 0.11 was measured too (benchmarks/pinot_tree_matching.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starskip.pinot.target_version import release_number

_RAW = {
    "DISTINCTCOUNTRAWHLL": "DISTINCTCOUNTHLL",
    "PERCENTILERAWEST": "PERCENTILEEST",
    "PERCENTILERAWTDIGEST": "PERCENTILETDIGEST",
    "DISTINCTCOUNTRAWTHETASKETCH": "DISTINCTCOUNTTHETASKETCH",
    "DISTINCTCOUNTRAWHLLPLUS": "DISTINCTCOUNTHLLPLUS",
    "DISTINCTCOUNTRAWCPCSKETCH": "DISTINCTCOUNTCPCSKETCH",
    "DISTINCTCOUNTRAWULL": "DISTINCTCOUNTULL",
}
_LONG = {"MINLONG": "MIN", "MAXLONG": "MAX", "SUMLONG": "SUM", "SUMINT": "SUM"}

FROM_DICTIONARY = frozenset(
    {"MIN", "MAX", "MINMAXRANGE", "DISTINCTCOUNT", "DISTINCTCOUNTHLL", "DISTINCTCOUNTRAWHLL"}
)
"""Answered from a column's dictionary where no row is filtered out (AggregationPlanNode), beside COUNT."""

DEFAULT_PARAMETERS: Mapping[str, float] = {"DISTINCTCOUNTHLL": 8.0, "PERCENTILETDIGEST": 100.0}
"""Log2m and compression of the sketches in functionColumnPairs (CommonConstants.Helix of 1.3 and later)."""


@dataclass(frozen=True, slots=True)
class StarTreeRules:
    """Rules of one release; each rule names the release that brought it and the class that has it."""

    or_of_one_dimension: bool
    """0.9, StarTreeUtils.isOrClauseValidForStarTree; before, any OR rules the trees out."""

    not_of_predicate: bool
    """1.2, StarTreeUtils.extractPredicateEvaluatorsMap: NOT of one predicate. NOT of AND or OR never is."""

    filtered_aggregations: bool
    """1.1, AggregationFunctionUtils.buildFilteredAggregationInfos: a plan of its own for each FILTER."""

    patterns: bool
    """Until 0.4 (StarTreeUtils.checkFilters looks at columns only); from 0.5 on REGEXP_LIKE and LIKE rule the
    trees out, as do IS NULL and TEXT_MATCH."""

    same_parameters: bool
    """1.3, AggregationFunction.canUseStarTree: log2m and compression as the tree keeps them."""

    trees_first: bool
    """1.4, AggregationPlanNode; before, dictionaries and metadata answer first where all rows match."""

    counts_from_bitmaps: bool
    """0.11, FastFilteredCountOperator: COUNT(*) alone where indexes answer the whole filter (1.4: if no tree
    does)."""

    where_no_nulls: bool
    """1.3, StarTreeUtils.createStarTreeBasedProjectOperator: queries that handle nulls (enableNullHandling),
    where none of their columns has nulls; before, none, but for a GROUP BY until 1.0, which loses nulls."""

    stored: Mapping[str, str] = field(default_factory=dict)
    """1.1, AggregationFunctionColumnPair.getStoredType: functions that read another function's value."""


def star_tree_rules(pinot_version: str) -> StarTreeRules:
    """Return the rules of ``pinot_version`` (such as 0.11 or 1.2.0)."""
    release = release_number(pinot_version)
    stored = (_RAW if release >= (1, 1) else {}) | (_LONG if release >= (1, 5) else {})
    return StarTreeRules(
        or_of_one_dimension=release >= (0, 9),
        not_of_predicate=release >= (1, 2),
        filtered_aggregations=release >= (1, 1),
        patterns=release < (0, 5),
        same_parameters=release >= (1, 3),
        trees_first=release >= (1, 4),
        counts_from_bitmaps=release >= (0, 11),
        where_no_nulls=release >= (1, 3),
        stored=stored,
    )
