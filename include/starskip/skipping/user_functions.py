"""Implications of user-defined functions: weaker predicates over ordinary columns, by the function's name.

See "Extensible Data Skipping", V-C. After ``map_function("ST_Contains", implication)``, the implication is
called with each boolean node that calls the function or compares its value. It returns a predicate that holds
for every row that satisfies the node.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow as pa

from starskip.predicates.expression import Call, Expression, Literal
from starskip.predicates.padded_texts import of_padded_text

Implication = Callable[[Expression], Expression | None]
"""Returns a predicate that holds wherever a boolean node does, None if it knows none."""

_by_name: dict[str, Implication] = {}
_failed: set[str] = set()
log = logging.getLogger("starskip.skipping")


def map_function(name: str, implication: Implication) -> None:
    """Register ``implication`` for nodes with the function ``name``; case does not matter."""
    _by_name[f"udf:{name.lower()}"] = implication
    _failed.discard(f"udf:{name.lower()}")


def implications() -> tuple[Implication, ...]:
    """Return all implications: of mapped functions, of Spark's boolean wrappers, and of CHAR(n)."""
    return (implied_by_function, _of_wrapped_predicate, of_padded_text)


def implied_by_function(node: Expression) -> Expression | None:
    """Return the implication of a boolean node with a mapped function, None without one."""
    if not isinstance(node, Call):
        return None
    for each in (node, *node.arguments):
        if isinstance(each, Call) and each.name in _by_name:
            return _implied(each.name, node)
    return None


def _implied(name: str, node: Expression) -> Expression | None:
    try:
        found = _by_name[name](node)
        if found is not None and not isinstance(found, Expression):
            raise TypeError(f"{type(found).__name__} is no expression")
        return found
    except Exception as error:
        # It may not take this literal, say; other nodes are still mapped.
        if name not in _failed:
            _failed.add(name)
            words = "the implication of function %s is not used: it raised %s"
            log.warning(words, name.removeprefix("udf:"), type(error).__name__)
        return None


def _of_wrapped_predicate(node: Expression) -> Expression | None:
    """Unwrap ``(c = 1) <=> true``, which Spark makes of CASE WHEN c = 1 THEN true ELSE false END.

    Likewise ``if(isnull(n), false, n.c = 1)``, which it makes of a comparison with a field of a struct.
    """
    if not isinstance(node, Call):
        return None
    if node.name == "If" and len(node.arguments) == 3:
        _, found, otherwise = node.arguments
        if _is_false(found):
            return otherwise
        return found if _is_false(otherwise) else None
    if node.name not in ("EqualTo", "EqualNullSafe"):
        return None
    for inner, literal in ((node.left, node.right), (node.right, node.left)):
        if isinstance(inner, Call) and isinstance(literal, Literal) and _is_known_boolean(literal.value):
            return inner if literal.python else Call("Not", (inner,))
    return None


def _is_false(node: Expression) -> bool:
    return isinstance(node, Literal) and _is_known_boolean(node.value) and node.python is False


def _is_known_boolean(value: pa.Scalar) -> bool:
    # By its type: Python has no value for Spark's dates and times after the year 9999.
    return bool(value.is_valid and pa.types.is_boolean(value.type))
