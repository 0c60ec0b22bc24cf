"""Push the predicates of a plan down to its leaf relations.

A predicate is pushed only where rows that fail it can be dropped without changing any other row or value,
which is Catalyst's rule for filters (PushDownPredicates). Catalyst has pushed filters before this rule runs;
the nodes between a filter and its relation remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.spark.skipping.plan_tree import Node

Predicates = tuple[Node, ...]
_Bindings = Mapping[tuple[int, str], Node]

_TRANSPARENT = frozenset(
    {
        "SubqueryAlias",
        "ResolvedHint",
        "Subquery",
        "ReturnAnswer",
        "Sort",
        "Repartition",
        "RepartitionByExpression",
        "RebalancePartitions",
    }
)
"""Nodes with exactly the rows of their one child."""
_PYTHON = frozenset({"BatchEvalPython", "ArrowEvalPython"})
NONDETERMINISTIC = frozenset(
    {
        "CallMethodViaReflection",
        "CurrentBatchTimestamp",
        "InputFileBlockLength",
        "InputFileBlockStart",
        "InputFileName",
        "MonotonicallyIncreasingID",
        "Rand",
        "RandStr",
        "Randn",
        "Shuffle",
        "SparkPartitionID",
        "Uuid",
    }
)
"""Catalyst's expressions whose value depends on other rows, or on a row's position."""
_FLAGS = ("udfDeterministic", "isDeterministic")
_JUDGED = "org.apache.spark.sql.catalyst.expressions."


def leaf_predicates(root: Node) -> list[tuple[Node, Predicates]]:
    """Return the leaves of a plan from the left, each with its predicates as conjuncts."""
    found: list[tuple[Node, Predicates]] = []
    waiting: list[tuple[Node, Predicates]] = [(root, ())]
    while waiting:
        node, predicates = waiting.pop()
        if not node.children:
            found.append((node, predicates))
            continue
        passed = below(node, predicates)
        waiting.extend((child, passed) for child in reversed(node.children))
    return found


def is_deterministic(expression: Node) -> bool:
    """Return whether Catalyst knows that the expression's value depends on its arguments alone."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.name in NONDETERMINISTIC or "plan" in node.fields:
            return False
        if not node.full_name.startswith(_JUDGED) or not all(node.fields.get(name, True) for name in _FLAGS):
            return False
        waiting.extend(node.children)
    return True


def below(node: Node, predicates: Predicates) -> Predicates:
    """Return the predicates that reach the child of a node; none if it has several children."""
    if len(node.children) != 1:
        return ()
    if node.name == "Filter":
        own = and_parts(node.expression("condition"))
        kept = predicates if all(map(is_deterministic, own)) else ()
        return kept + own
    if not predicates:
        return ()
    if node.name == "Project":
        return _through_project(node, predicates)
    if node.name in _PYTHON:
        functions = node.expressions("udfs")
        attributes = map(attribute_identity, node.expressions("resultAttrs"))
        bound = dict(zip(attributes, functions, strict=True))
        return _bound(predicates, bound) if all(map(is_deterministic, functions)) else ()
    return predicates if node.name in _TRANSPARENT else ()


def _through_project(node: Node, predicates: Predicates) -> Predicates:
    bound = {}
    for each in node.expressions("projectList"):
        if each.name == "AttributeReference":
            continue
        if not is_deterministic(each):
            return ()
        if each.name == "Alias":
            bound[attribute_identity(each)] = each.children[0]
    return _bound(predicates, bound) if bound else predicates


def and_parts(expression: Node) -> Predicates:
    """Flatten an AND of any depth."""
    found, waiting = [], [expression]
    while waiting:
        node = waiting.pop()
        if node.name == "And":
            waiting.extend(reversed(node.children))
        else:
            found.append(node)
    return tuple(found)


def attribute_identity(named: Node) -> tuple[int, str]:
    """Return the expression id of an attribute or alias; names are not unique."""
    identity = named.fields["exprId"]
    return identity["id"], identity["jvmId"]


def _bound(predicates: Sequence[Node], bound: _Bindings) -> Predicates:
    made: dict[int, Node] = {}
    # The predicates keep all nodes alive, so that ids are unique.
    return tuple(_with(each, bound, made) for each in predicates)


def _with(expression: Node, bound: _Bindings, made: dict[int, Node]) -> Node:
    """Substitute expressions for attributes; a node without any of them stays the same object."""
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        missing = [child for child in node.children if id(child) not in made]
        if id(node) not in made and missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        if node.name == "AttributeReference":
            made[id(node)] = bound.get(attribute_identity(node), node)
        elif id(node) not in made:
            made[id(node)] = _with_children(node, [made[id(child)] for child in node.children])
    return made[id(expression)]


def _with_children(node: Node, children: list[Node]) -> Node:
    if all(new is old for new, old in zip(children, node.children, strict=True)):
        return node
    # The JVM object has the old children, but only the node's own fields are read from it.
    copy = Node(node.fields)
    copy.children, copy.of, copy.field = children, node.of, node.field
    return copy
