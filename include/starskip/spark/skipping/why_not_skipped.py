"""Explain why the predicates of a query skip no file: the parts of each that no index understands.

A predicate that an index understands, and that may match rows of every file, comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from starskip.predicates.column_name import column_name, column_path
from starskip.predicates.expression import Call, Expression
from starskip.skipping.build_clause import build_clause
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.leaf_predicates import Predicates, below, is_deterministic
from starskip.spark.skipping.plan_tree import Node

EVERY_FILE = "by the metadata every file may hold a matching row"
_MOST_REASONS = 5
_OPERATORS: Mapping[str, str] = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "In": "IN",
    "InSet": "IN",
    "StartsWith": "LIKE 'x%'",
    "EndsWith": "LIKE '%x'",
    "Contains": "LIKE '%x%'",
    "Like": "LIKE",
    "RLike": "RLIKE",
    "IsNull": "IS NULL",
    "IsNotNull": "IS NOT NULL",
}
_BOOLEAN = frozenset({"And", "Or", "Not"})
_IN_THE_WAY: Mapping[str, str] = {
    "Join": "a join",
    "Aggregate": "an aggregate",
    "GlobalLimit": "a LIMIT",
    "LocalLimit": "a LIMIT",
    "Offset": "an OFFSET",
    "Window": "a window function",
    "Generate": "explode()",
    "Expand": "an aggregate",
    "Sample": "a sample",
    "Project": "a column that differs each time, such as rand()",
    "Union": "a UNION",
    "Intersect": "an INTERSECT",
    "Except": "an EXCEPT",
}


def why_not_skipped(
    leaf: Node,
    predicates: Predicates,
    read: Callable[[Node], Expression],
    indexes: Sequence[SkippingIndex],
    unsure: Collection[str] = (),
) -> list[str]:
    """Return the reasons, at least one.

    ``read`` converts a predicate for ``indexes``; ``unsure`` are columns whose values in the metadata may
    differ from the values that the query reads.
    """
    # Spark adds IS NOT NULL for each compared column.
    asked = [each for each in predicates if each.name != "IsNotNull"]
    if not predicates or (not asked and any(node.name == "Join" for node in _above(leaf))):
        return [_why_no_predicate(leaf)]
    asked = asked or list(predicates)
    reader = _Reasons(read, indexes, unsure)
    found = list(dict.fromkeys(reason for each in asked for reason in reader.of(each)))
    reasons = found[:_MOST_REASONS]
    if len(found) > _MOST_REASONS:
        reasons.append(f"{len(found) - _MOST_REASONS} reasons more")
    if any(map(reader.is_understood, asked)) or not reasons:
        reasons.append(f"{EVERY_FILE} for the other predicates" if reasons else EVERY_FILE)
    return reasons


def _why_no_predicate(leaf: Node) -> str:
    joined = False
    found: Predicates = ()
    for node in reversed(list(_above(leaf))):
        kept = below(node, found)
        if found and not kept and node.name != "Join":
            what = _IN_THE_WAY.get(node.name, f"an operator ({node.name}) that needs all of them")
            return f"rows go through {what} before they are filtered"
        joined = joined or node.name == "Join"
        found = kept
    return "there is no predicate on the files" + (" but that of a join" if joined else "")


def _above(leaf: Node) -> Iterator[Node]:
    node = leaf.of
    while node is not None:
        yield node
        node = node.of


@dataclass(frozen=True, slots=True)
class _Reasons:
    read: Callable[[Node], Expression]
    indexes: Sequence[SkippingIndex]
    unsure: Collection[str]

    def is_understood(self, predicate: Node, *, negated: bool = False) -> bool:
        expression = self.read(predicate)
        asked = Call("Not", (expression,)) if negated else expression
        return build_clause(self.indexes, [asked], {}) is not None

    def of(self, predicate: Node, *, negated: bool = False) -> Iterator[str]:
        """Yield the parts of a predicate, or of its NOT, that no index understands."""
        if self.is_understood(predicate, negated=negated):
            return
        if predicate.name in _BOOLEAN:
            for each in predicate.children:
                yield from self.of(each, negated=negated ^ (predicate.name == "Not"))
            return
        columns = sorted(set(_columns(predicate)))
        known = {column_path(name)[0].lower() for index in self.indexes for name in index.columns}
        unknown = [name for name in columns if name.lower() not in known]
        unsure = [name for name in columns if name in self.unsure]
        if not columns:
            yield "a predicate names no column"
        elif not is_deterministic(predicate):
            yield f"the value that {', '.join(columns)} is compared with is known only when the query runs"
        elif functions := sorted(set(_functions(predicate))):
            yield from (f"no index understands {each}" for each in functions)
        elif unsure:
            yield f"values of {', '.join(unsure)} in paths are read otherwise than for the metadata"
        elif unknown:
            yield f"no index is on column {', '.join(unknown)}"
        elif len(columns) > 1:
            yield f"{' and '.join(columns)} are compared with each other, which no index understands"
        else:
            operator = f"{'NOT ' * negated}{_OPERATORS.get(predicate.name, predicate.name)}"
            yield f"no index of {columns[0]} understands {operator} with this value"


def _functions(predicate: Node) -> Iterator[str]:
    """Yield the outermost functions of columns, such as month(ts)."""
    waiting = [predicate]
    while waiting:
        node = waiting.pop()
        columns = sorted(set(_columns(node)))
        if not columns or node.name in ("AttributeReference", "GetStructField"):
            continue
        if node.name in _OPERATORS or node.name in _BOOLEAN:
            waiting.extend(node.children)
        else:
            yield f"{_function(node)}({', '.join(columns)})"


def _function(node: Node) -> str:
    for field in ("functionName", "udfName", "name"):
        if isinstance(node.fields.get(field), str):
            return str(node.fields[field])
    return str(node.name).lower()


def _columns(node: Node) -> Iterator[str]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.name == "AttributeReference":
            yield column_name((str(each.fields["name"]),))
        waiting.extend(each.children)
