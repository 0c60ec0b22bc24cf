"""Count how the predicates of a workload use each column, by the shapes that index types support."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import (
    Comparison,
    ComparisonOperator,
    comparison_of,
    comparison_of_function,
)
from starskip.predicates.data_types import FLOATS, NUMBERS, family_of
from starskip.predicates.expression import Call, Column, Expression, Literal, nodes
from starskip.predicates.like_pattern import like_prefix, like_suffix
from starskip.skipping.registry import index_from_specification
from starskip.skipping.user_functions import Implication

_LOWER = {ComparisonOperator.AT_LEAST, ComparisonOperator.ABOVE}
_UPPER = {ComparisonOperator.AT_MOST, ComparisonOperator.BELOW}
_METRICS = ("euclidean", "manhattan", "levenshtein")
_AGENT_NAME = "udf:getagentname"
_ORDERS = {"LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"}
_MAX_NODES = 100_000
"""Further nodes of a predicate are ignored: such predicates are generated, and their shapes repeat."""
_MAX_PAIRED = 8

_MOST_DERIVED_NODES = 1_000
_MOST_OF_HYBRID = 10_000
_SHAPES = frozenset({"string", "binary"})


def _sums() -> dict[Any, float]:
    return defaultdict(float)


@dataclass(slots=True)
class ColumnUse:
    """Sums of query weights by kind of comparison, and by length of prefix and suffix patterns."""

    data_type: str
    equality: float = 0.0
    inequality: float = 0.0
    range: float = 0.0
    bounded_range: float = 0.0
    null: float = 0.0
    infix: float = 0.0
    agent_name: float = 0.0
    prefixes: dict[int, float] = field(default_factory=_sums)
    suffixes: dict[int, float] = field(default_factory=_sums)
    metrics: dict[str, float] = field(default_factory=_sums)


@dataclass(slots=True)
class WorkloadUses:
    """The uses by column name, by pair of coordinates (latitude first), and by function."""

    columns: dict[str, ColumnUse] = field(default_factory=dict)
    pairs: dict[tuple[str, str], float] = field(default_factory=_sums)
    derived: dict[str, float] = field(default_factory=_sums)
    """By specification, the uses of functions of a column."""

    def use_of(self, column: Column) -> ColumnUse:
        """Return the use of a column, to add to."""
        return self.columns.setdefault(column_name(column.path), ColumnUse(column.data_type))


def column_uses(
    predicates: Sequence[Expression], weights: Sequence[float], implications: Sequence[Implication] = ()
) -> WorkloadUses:
    """Return the uses of all columns; a query counts once for each kind of comparison in it."""
    uses = WorkloadUses()
    for predicate, weight in zip(predicates, weights, strict=True):
        once: set[object] = set()
        for group in _conjunctions(predicate, implications):
            _add(uses, group, weight, once)
    return uses


def _conjunctions(predicate: Expression, implications: Sequence[Implication]) -> Iterator[list[Expression]]:
    """Yield groups of conjuncts that contain no And or Or."""
    waiting: list[tuple[Expression, bool]] = [(predicate, True)]
    seen = 0
    while waiting:
        root, is_asked = waiting.pop()
        group: list[Expression] = []
        below = [root]
        while below and seen < _MAX_NODES:
            node = below.pop()
            seen += 1
            if isinstance(node, Call) and node.name == "And":
                below.extend(reversed(node.arguments))
            elif isinstance(node, Call) and node.name == "Or":
                waiting.extend((operand, is_asked) for operand in reversed(node.arguments))
            elif comparison_of(node) is None and isinstance(node, Call) and node.name == "Not":
                waiting.append((node.left, is_asked))
            else:
                group.append(node)
                if is_asked:
                    # As in generate_clause: implications are not applied to implied predicates.
                    implied = (found for each in implications if (found := each(node)) is not None)
                    waiting.extend((found, False) for found in implied)
        if group:
            yield group


def _add(uses: WorkloadUses, group: Sequence[Expression], weight: float, once: set[object]) -> None:
    found = [item for node in group if (item := comparison_of(node)) is not None]
    lower = {item.column for item in found if item.operator in _LOWER}
    upper = {item.column for item in found if item.operator in _UPPER}
    bounded = [column for column in dict.fromkeys(item.column for item in found) if column in lower & upper]
    asked = {
        item.column
        for item in found
        if item.operator not in (ComparisonOperator.IS_NOT_NULL, ComparisonOperator.IS_NULL)
    }
    for item in found:
        # Spark adds IS NOT NULL to each column that is compared.
        if item.operator is not ComparisonOperator.IS_NOT_NULL or item.column not in asked:
            _add_comparison(uses.use_of(item.column), item, weight, once)
    for column in bounded:
        if _is_first(once, (column, "bounded")):
            uses.use_of(column).bounded_range += weight
    for node in group:
        if comparison_of(node) is None:
            _add_function(uses, node, weight, once)
    for node in group:
        for derived in derived_uses(node):
            if _is_first(once, derived):
                uses.derived[derived] += weight
    for pair in _coordinates(bounded):
        if _is_first(once, pair):
            uses.pairs[pair] += weight


def _add_comparison(use: ColumnUse, item: Comparison, weight: float, once: set[object]) -> None:
    shape, length = _shape(item)
    if not shape or not _is_first(once, (item.column, shape, length)):
        return
    if shape in ("prefixes", "suffixes"):
        getattr(use, shape)[length] += weight
    else:
        setattr(use, shape, getattr(use, shape) + weight)


def _shape(item: Comparison) -> tuple[str, int]:
    operator = item.operator
    if operator in _LOWER | _UPPER:
        return "range", 0
    if operator in (ComparisonOperator.IS_NULL, ComparisonOperator.IS_NOT_NULL):
        return "null", 0
    if operator is ComparisonOperator.IN:
        return ("inequality" if item.negated else "equality"), 0
    if item.negated:
        return "inequality", 0
    if operator is ComparisonOperator.LIKE:
        first, last = like_prefix(item.text, item.escape), like_suffix(item.text, item.escape)
        if first:
            return "prefixes", len(first)
        return ("suffixes", len(last)) if last else ("infix", 0)
    if operator is ComparisonOperator.CONTAINS:
        return "infix", 0
    return ("prefixes" if operator is ComparisonOperator.STARTS_WITH else "suffixes"), len(item.text)


def _add_function(uses: WorkloadUses, node: Expression, weight: float, once: set[object]) -> None:
    if not isinstance(node, Call):
        return
    named = comparison_of_function(node, _is_agent_name, "string")
    if named is not None:
        (column,) = named[1].arguments
        if isinstance(column, Column) and _is_first(once, (column, _AGENT_NAME)):
            uses.use_of(column).agent_name += weight
    for call in nodes(node):
        if not isinstance(call, Call):
            continue
        columns = [each for each in call.arguments if isinstance(each, Column)]
        name = call.name.removeprefix("udf:").lower()
        if metric := next((each for each in _METRICS if each in name), None):
            literals = [each for each in call.arguments if isinstance(each, Literal)]
            is_near = node.name in _ORDERS and any(each is call for each in node.arguments)
            if is_near and len(columns) == 1 and literals and _is_first(once, (columns[0], metric)):
                uses.use_of(columns[0]).metrics[metric] += weight
        elif name.startswith("st_") and call is node:
            points = _distinct(each for each in nodes(call) if isinstance(each, Column))
            numbers = [each for each in points if family_of(each.data_type) in NUMBERS]
            if len(numbers) == 2 and _is_first(once, (pair := _in_order(numbers[0], numbers[1]))):
                uses.pairs[pair] += weight


def _is_agent_name(call: Call) -> bool:
    return call.name == _AGENT_NAME and len(call.arguments) == 1


def _coordinates(bounded: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Yield pairs of bounded columns that may be coordinates, by their names or as the only two."""
    numbers = [each for each in bounded if family_of(each.data_type) in FLOATS | {"decimal"}]
    for first, second in combinations(numbers[:_MAX_PAIRED], 2):
        names = {_coordinate(first), _coordinate(second)}
        if names == {"latitude", "longitude"} or (len(numbers) == 2 and names == {""}):
            yield _in_order(first, second)


def _in_order(first: Column, second: Column) -> tuple[str, str]:
    if _coordinate(first) == "longitude" or _coordinate(second) == "latitude":
        first, second = second, first
    return column_name(first.path), column_name(second.path)


def _coordinate(column: Column) -> str:
    name = column.path[-1].lower()
    if "lat" in name:
        return "latitude"
    return "longitude" if "lon" in name or "lng" in name else ""


def _distinct(columns: Iterable[Column]) -> list[Column]:
    return list(dict.fromkeys(columns))


def _is_first(once: set[object], key: object) -> bool:
    is_first = key not in once
    once.add(key)
    return is_first


# The index type itself decides: only an index that has a clause for the predicate is a candidate.
def derived_uses(predicate: Expression) -> Iterator[str]:
    """Yield specifications that serve a predicate without AND and OR."""
    proposed = dict.fromkeys(
        found
        for _, node in zip(range(_MOST_DERIVED_NODES), nodes(predicate), strict=False)
        if isinstance(node, Call)
        for found in _of_call(node)
    )
    for specification in proposed:
        try:
            is_served = index_from_specification(specification).label(predicate) is not None
        except ConfigError:
            continue
        if is_served:
            yield specification


def _of_call(call: Call) -> Iterator[str]:
    if call.name.startswith("udf:st_"):
        for each in nodes(call):
            if isinstance(each, Column) and family_of(each.data_type) in _SHAPES:
                yield f"geometrybox:{column_name(each.path)}"
    match call:
        case Call("ArrayContains", (Column() as column, Literal())):
            yield f"elements:{column_name(column.path)}"
        case Call("GetMapValue" | "ElementAt", (Column() as column, Literal() as key)):
            yield _of_map(column, str(key.python))
        case Call("GetJsonObject", (Column() as column, Literal() as path)):
            yield f"formatted:{column_name(column.path)}:json_path:{path.python}"
        case Call("SubstringIndex", (Column() as column, *_)):
            yield f"formatted:{column_name(column.path)}:email_domain"
        case Call("Invoke", (Call("ParseUrlEvaluator"), Column() as column, *_)):
            yield f"formatted:{column_name(column.path)}:url_host"
        case Call("udf:ip_in_network", (Column() as column, Literal())):
            yield f"ipnetworks:{column_name(column.path)}"
        case Call("Contains" | "Like", (Column() as column, *_)):
            yield f"ngrams:{column_name(column.path)}"


def _of_map(column: Column, key: str) -> str:
    found = f"mapvalue:{column_name(column.path)}:{key}"
    # A number behind a colon would be taken for the threshold.
    is_ambiguous = ":" in key and key.rpartition(":")[2].isdecimal()
    return f"{found}:{_MOST_OF_HYBRID}" if is_ambiguous else found
