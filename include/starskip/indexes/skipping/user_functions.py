"""What functions of users say of ordinary columns: implications by the function's name (seed 003, V-C).

``map_function("ST_Contains", implication)``: the implication is asked for each boolean node that is a call of
the function or compares one, and answers with a weaker predicate that holds wherever the node does.
"""

from __future__ import annotations

import logging

import pyarrow as pa

from starskip.indexes.skipping.expression import Call, Expression, Literal
from starskip.indexes.skipping.generate_clause import Implication
from starskip.indexes.skipping.padded_texts import of_padded_text

_by_name: dict[str, Implication] = {}
_failed: set[str] = set()
log = logging.getLogger("starskip.skipping")


def map_function(name: str, implication: Implication) -> None:
    """Have ``implication`` asked of nodes with the function ``name``, as registered in Spark, in any case."""
    _by_name[f"udf:{name.lower()}"] = implication
    _failed.discard(f"udf:{name.lower()}")


def implications() -> tuple[Implication, ...]:
    """Return what generate_clause asks: of mapped functions, of Spark's wrappers, and of CHAR(n)."""
    return (_of_mapped_functions, _of_wrapped_predicate, of_padded_text)


def _of_mapped_functions(node: Expression) -> Expression | None:
    if not isinstance(node, Call):
        return None
    for each in (node, *node.arguments):
        if isinstance(each, Call) and each.name in _by_name:
            return _asked(each.name, node)
    return None


def _asked(name: str, node: Expression) -> Expression | None:
    try:
        found = _by_name[name](node)
        if found is not None and not isinstance(found, Expression):
            raise TypeError(f"{type(found).__name__} is no expression")
        return found
    except Exception as error:
        # A literal that it cannot take, say: then it tells nothing of this node, and others still do.
        if name not in _failed:
            _failed.add(name)
            words = "what function %s says of ordinary columns is not used: its implication raised %s"
            log.warning(words, name.removeprefix("udf:"), type(error).__name__)
        return None


def _of_wrapped_predicate(node: Expression) -> Expression | None:
    """``(c = 1) <=> true`` is what Spark makes of CASE WHEN c = 1 THEN true ELSE false END.

    So it makes ``if(isnull(n), false, n.c = 1)`` of a comparison with a field of a struct.
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
    # By its type: Spark's dates and times go on after the year 9999, where Python has no value for them.
    return bool(value.is_valid and pa.types.is_boolean(value.type))
