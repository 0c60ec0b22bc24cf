"""Rules of table configs on star-trees, and on tables that replace or add up rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from starskip.pinot.config_columns import NUMBERS, ConfigColumns, ConfigTree, Release
from starskip.pinot.config_rule import BY_TYPE, Breaks, ConfigRule


def _table(condition: Callable[[ConfigColumns], bool]) -> Breaks:
    return lambda config: [""] if condition(config) else []


def _has_tree(config: ConfigColumns) -> bool:
    return bool(config.trees) or config.has_default_tree()


def _of_trees(broken: Callable[[ConfigColumns, ConfigTree], Iterable[str]]) -> Breaks:
    return lambda config: [name for tree in config.trees for name in broken(config, tree)]


def _tree_map(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    columns = config.known((*tree.dimensions, *tree.metrics()))
    return (name for name, column in columns if column.data_type == "MAP")


def _bad_pairs(_config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__{c}" for f, c in tree.pairs if not f or not _is_function(f))


def _unbuilt_pairs(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    known = _stored_functions(config.release)
    return (f"{f}__{c}" for f, c in tree.pairs if _is_function(f) and f not in known)


def _wrong_metrics(config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    sums = {f"{f}__{c}": c for f, c in tree.pairs if f in _OF_NUMBERS}
    return (
        pair
        for pair, name in sums.items()
        if name in config.columns and config.columns[name].stored_type not in NUMBERS
    )


def _star_columns(_config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__*" for f, column in tree.pairs if column == "*" and f != "COUNT")


def _twice(_config: ConfigColumns, tree: ConfigTree) -> Iterator[str]:
    return (f"{f}__{c}" for f, c in tree.pairs if tree.pairs.count((f, c)) > 1)


def _pairs_missing(config: ConfigColumns, tree: ConfigTree) -> list[str]:
    aggregations = tree.has_aggregations and config.release >= (1, 1)
    return [] if tree.dimensions and (tree.has_pairs or aggregations) else [", ".join(tree.dimensions)]


def _pairs_both(_config: ConfigColumns, tree: ConfigTree) -> list[str]:
    return [", ".join(tree.dimensions)] if tree.has_pairs and tree.has_aggregations else []


_OF_NUMBERS = {"SUM", "MIN", "MAX", "AVG", "MINMAXRANGE", "PERCENTILEEST", "PERCENTILETDIGEST"}
_STORED = {"COUNT", "DISTINCTCOUNTBITMAP", "DISTINCTCOUNTHLL", "DISTINCTCOUNTRAWHLL", "SUMPRECISION"}
_STORED |= {*_OF_NUMBERS, "PERCENTILERAWEST", "PERCENTILERAWTDIGEST"}
_SKETCHES = ("THETASKETCH", "RAWTHETASKETCH", "TUPLESKETCH", "RAWINTEGERSUMTUPLESKETCH")
_LATER_SKETCHES = ("CPCSKETCH", "RAWCPCSKETCH", "HLLPLUS", "RAWHLLPLUS", "ULL", "RAWULL")
_FUNCTION = re.compile(
    r"COUNT|(?:MIN|MAX|SUM|AVG|MODE|MINMAXRANGE|SUMPRECISION|SUMVALUES|AVGVALUE|DISTINCT|PERCENTILE|FIRST|LAST"
    r"|SEGMENTPARTITIONED|FASTHLL|IDSET|HISTOGRAM|STUNION|COUNTMV|SUM0|STD|VAR|COVAR|KURT|SKEW|BOOL|ARRAY|LIST"
    r"|FUNNEL|FREQUENT|ANY|EXPR|CORR|FOURTH|TIMESERIES)\w*"
)


def _is_function(name: str) -> bool:
    return _FUNCTION.fullmatch(name) is not None


def _stored_functions(release: Release) -> set[str]:
    """Return the functions that star-trees can keep (ValueAggregatorFactory)."""
    sketches = (*_SKETCHES, *(_LATER_SKETCHES if release >= (1, 1) else ()))
    found = _STORED | ({f"DISTINCTCOUNT{name}" for name in sketches} if release >= (1, 0) else set())
    if release >= (1, 0):
        found |= {"SUMVALUESINTEGERSUMTUPLESKETCH", "AVGVALUEINTEGERSUMTUPLESKETCH"}
    return found | ({"AVGMV", "COUNTMV", "SUMMV"} if release >= (1, 5) else set())


TREE_RULES: tuple[ConfigRule, ...] = (
    ConfigRule(
        "upsert_star_tree",
        "an upsert table cannot have a star-tree",
        _table(lambda c: _has_tree(c) and c.is_upsert()),
    ),
    ConfigRule(
        "dedup_star_tree",
        "a table with dedup should not have a star-tree",
        _table(lambda c: _has_tree(c) and c.is_dedup()),
        validated=None,
    ),
    ConfigRule(
        "upsert_aggregation",
        "an upsert or dedup table cannot add up rows while it ingests them",
        _table(lambda c: c.aggregates_rows() and (c.is_upsert() or c.is_dedup())),
    ),
    ConfigRule(
        "tree_multi_value",
        "{} holds several values a row, and is a dimension of a star-tree",
        _of_trees(lambda c, tree: c.multi_value((*tree.dimensions, *tree.skipped))),
    ),
    ConfigRule(
        "tree_metric_multi_value",
        "{} holds several values a row, and is aggregated in a star-tree",
        _of_trees(lambda c, tree: c.multi_value(tree.metrics())),
        until=(1, 5),
    ),
    ConfigRule(
        "tree_no_dictionary",
        "{} is stored without a dictionary, which a dimension of a star-tree needs",
        lambda c: c.raw().intersection(name for tree in c.trees for name in tree.dimensions),
        validated=BY_TYPE,
    ),
    ConfigRule("tree_map", "{} is of type MAP, and is in a star-tree", _of_trees(_tree_map), since=BY_TYPE),
    ConfigRule(
        "tree_skips",
        "{} has no star-nodes, and is not in the split order",
        _of_trees(lambda _, tree: set(tree.skipped) - set(tree.dimensions)),
        validated=BY_TYPE,
    ),
    ConfigRule("tree_pair", "{} is no function and column of a star-tree", _of_trees(_bad_pairs)),
    ConfigRule(
        "tree_function", "{} cannot be kept in a star-tree", _of_trees(_unbuilt_pairs), validated=None
    ),
    ConfigRule(
        "tree_metric_type", "{} aggregates what is no number", _of_trees(_wrong_metrics), validated=None
    ),
    ConfigRule(
        "tree_star", "{} needs a column: only COUNT takes *", _of_trees(_star_columns), validated=(1, 5)
    ),
    ConfigRule("tree_pair_twice", "{} is twice in one star-tree", _of_trees(_twice), since=(1, 3)),
    ConfigRule(
        "tree_without_pairs", "the star-tree by {} lacks dimensions or functions", _of_trees(_pairs_missing)
    ),
    ConfigRule(
        "tree_pairs_both_ways",
        "the star-tree by {} has both functionColumnPairs and aggregationConfigs",
        _of_trees(_pairs_both),
        since=BY_TYPE,
    ),
)
"""Rules of star-trees, and of tables that Pinot keeps from having them."""
