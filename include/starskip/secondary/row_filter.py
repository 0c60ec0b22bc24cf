"""Evaluate an expression on rows with Spark's three-valued logic and order of values, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import UnsupportedQuery
from starskip.predicates.edit_distance import edit_distances
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet, nodes
from starskip.predicates.like_pattern import like_regex
from starskip.predicates.ordered_values import at_most, below, in_set, order_keys, valid_mask
from starskip.secondary.spatial_functions import CONTAINS, DISTANCE
from starskip.secondary.spatial_shapes import shape_of
from starskip.secondary.table_schema import field_values


def row_filter(expression: Expression, rows: pa.Table) -> pa.Array:
    """Return for each row true, false or null; WHERE keeps the rows that are true.

    Raises UnsupportedQuery for a node that is not evaluated here.
    """
    if isinstance(expression, Literal):
        return pa.repeat(expression.value.cast(pa.bool_()), rows.num_rows)
    if isinstance(expression, Column):
        return field_values(rows, expression.path)
    if isinstance(expression, Call):
        if expression.name in ("And", "Or"):
            combine = pc.and_kleene if expression.name == "And" else pc.or_kleene
            return reduce(combine, (row_filter(each, rows) for each in expression.arguments))
        if expression.name == "Not":
            return pc.invert(row_filter(expression.left, rows))
        if expression.name in ("IsNull", "IsNotNull"):
            values = _values(expression.left, rows)
            return values.is_null() if expression.name == "IsNull" else values.is_valid()
        if expression.name == CONTAINS:
            return _contains(expression, rows)
        if expression.name in _COMPARED:
            return _compared(expression, rows)
        if expression.name in _TEXTS:
            return _texts(expression, rows)
    raise UnsupportedQuery(f"{expression}: is not evaluated on rows", reason="where")


def columns_in(expression: Expression) -> tuple[str, ...]:
    """Return the distinct top-level columns of an expression, in text order."""
    found = [each.path[0] for each in nodes(expression) if isinstance(each, Column)]
    return tuple(sorted(dict.fromkeys(found)))


def _values(node: Expression, rows: pa.Table) -> pa.Array:
    """Return the values of a column, or of a function of one."""
    if isinstance(node, Column):
        return field_values(rows, node.path)
    if isinstance(node, Call) and node.name == "Levenshtein":
        return _distances(node, rows)
    if isinstance(node, Call) and node.name == "StringRPad":
        return _of_length(node, rows)
    if isinstance(node, Call) and node.name == DISTANCE:
        lat, lng, valid = _point(node, rows)
        shape = shape_of(node.left.python if isinstance(node.left, Literal) else None)
        if shape is None or shape.is_empty:
            return pa.nulls(rows.num_rows, pa.float64())
        return pa.array(shape.distances(lng, lat), mask=~valid)
    if isinstance(node, Call) and node.name in ("And", "Or", "Not", *_COMPARED, *_TEXTS):
        return row_filter(node, rows)
    raise UnsupportedQuery(f"{node}: is not evaluated on rows", reason="where")


def _compared(call: Call, rows: pa.Table) -> pa.Array:
    values = _values(call.left, rows)
    if call.name == "In":
        listed = call.right
        assert isinstance(listed, LiteralSet)
        return _membership(values, listed)
    assert isinstance(call.right, Literal)
    literal = call.right.value
    valid = valid_mask(values)
    if not literal.is_valid:
        if call.name == "EqualNullSafe":
            return pa.array(~valid)
        return pa.nulls(len(values), pa.bool_())
    keys, bound = order_keys(values), order_keys(pa.array([literal.as_py()], values.type))
    held = _COMPARED[call.name](keys, bound)
    if call.name == "EqualNullSafe":
        return pa.array(held & valid)
    return pa.array(held, mask=~valid)


def _membership(values: pa.Array, listed: LiteralSet) -> pa.Array:
    valid = valid_mask(values)
    if not len(listed.values):
        # IN () is false, for null as well; IN (NULL) is null.
        return pa.nulls(len(values), pa.bool_()) if listed.has_null else _false(len(values))
    held = in_set(order_keys(values), order_keys(listed.values.cast(values.type))) & valid
    return pa.array(held, mask=~(valid & (held | (not listed.has_null))))


def _false(count: int) -> pa.Array:
    return pa.array(np.zeros(count, np.bool_))


def _texts(call: Call, rows: pa.Table) -> pa.Array:
    values = _values(call.left, rows)
    assert isinstance(call.right, Literal)
    text = call.right.python
    if text is None:
        return pa.nulls(len(values), pa.bool_())
    if call.name == "Like":
        escape = call.arguments[2] if len(call.arguments) > 2 else Literal(pa.scalar("\\"))
        assert isinstance(escape, Literal)
        return pc.match_substring_regex(values, like_regex(text, str(escape.python)))
    return _TEXTS[call.name](values, text)


def _distances(call: Call, rows: pa.Table) -> pa.Array:
    values = _values(call.left, rows)
    assert isinstance(call.right, Literal)
    if call.right.python is None:
        return pa.nulls(len(values), pa.int32())
    return edit_distances(values, call.right.python)


def _of_length(call: Call, rows: pa.Table) -> pa.Array:
    """Return texts of exactly n characters: shorter ones are padded, longer ones cut."""
    length, fill = (each.python for each in call.arguments[1:] if isinstance(each, Literal))
    return pc.utf8_slice_codeunits(pc.utf8_rpad(_values(call.left, rows), length, fill), 0, length)


def _contains(call: Call, rows: pa.Table) -> pa.Array:
    lat, lng, valid = _point(call, rows)
    shape = shape_of(call.left.python if isinstance(call.left, Literal) else None)
    if shape is None:
        return pa.nulls(rows.num_rows, pa.bool_())
    return pa.array(shape.contains(lng, lat), mask=~valid)


def _point(call: Call, rows: pa.Table) -> tuple[Any, Any, Any]:
    lat, lng = (_values(each, rows) for each in call.arguments[1:])
    valid = valid_mask(lat) & valid_mask(lng)
    numbers = (each.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy() for each in (lat, lng))
    return (*numbers, valid)


def _at_least(keys: Any, bound: Any) -> Any:
    return ~below(keys, bound)


def _above(keys: Any, bound: Any) -> Any:
    return ~at_most(keys, bound)


_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "EqualTo": in_set,
    "EqualNullSafe": in_set,
    "LessThan": below,
    "LessThanOrEqual": at_most,
    "GreaterThan": _above,
    "GreaterThanOrEqual": _at_least,
    "In": in_set,
}
_TEXTS: Mapping[str, Callable[[Any, str], Any]] = {
    "Contains": pc.match_substring,
    "StartsWith": pc.starts_with,
    "EndsWith": pc.ends_with,
    "Like": pc.match_like,
}
