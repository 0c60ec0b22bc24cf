"""Cast the literals of comparisons to the type of the column that they are compared with.

DuckDB would guess the type: a date compared with the text of a time loses the time, and a text compared with
a number fails at the first value that is no number. With the type given, a literal that does not fit is an
error before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TypeVar

import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.predicates.column_types import char_length
from starskip.sql.nanoseconds import (
    COMPARISONS,
    SIDES,
    bare,
    in_utc,
    moment_of_text,
    nanosecond_literal,
    with_nanoseconds,
)

_Expr = TypeVar("_Expr", bound=exp.Expr)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def with_typed_literals(expression: exp.Expr, types: Mapping[str, pa.DataType]) -> exp.Expr:
    """Return a copy of ``expression``, whose columns are in ``types``, with typed literals.

    Only comparisons, IN and BETWEEN of a column itself are looked at. Raises UnsupportedQuery with the reason
    "literal_type", naming column, type and literal.
    """
    copied = expression.copy()
    for node in list(copied.find_all(*COMPARISONS, exp.In, exp.Between)):
        sides = [bare(side) for key in SIDES if isinstance(side := node.args.get(key), exp.Expr)]
        column = next((side for side in sides if isinstance(side, exp.Column)), None)
        if column is None or column.name not in types:
            continue
        arrow_type = types[column.name]
        for side in sides:
            if isinstance(side, (exp.Literal, exp.Boolean)):
                side.replace(_typed(side, arrow_type, column.name))
        # All at once: to replace one of many literals takes as long as there are literals.
        if isinstance(node, exp.In) and node.expressions:
            node.set("expressions", [_typed_item(item, arrow_type, column.name) for item in node.expressions])
    return with_nanoseconds(copied, types)


def with_padded_literals(expression: _Expr, schema: pa.Schema) -> _Expr:
    """Return a copy of ``expression`` with literals padded to n where a column of CHAR(n) is compared.

    Spark pads them in the same way, except in BETWEEN and in an IN with null. Raises UnsupportedQuery for a
    longer literal, for which Spark pads the column instead.
    """
    lengths = {each.name: length for each in schema if (length := char_length(each)) is not None}
    copied = expression.copy()
    if not lengths:
        return copied
    for node in list(copied.find_all(*COMPARISONS, exp.In)):
        sides = [bare(side) for key in SIDES if isinstance(side := node.args.get(key), exp.Expr)]
        column = next((each for each in sides if isinstance(each, exp.Column)), None)
        listed = [bare(each) for each in node.expressions]
        if column is None or any(isinstance(each, exp.Null) for each in listed):
            continue
        length = lengths.get(column.name)
        if length is None:
            continue
        for literal in (*sides, *listed):
            if isinstance(literal, exp.Literal) and literal.is_string:
                if len(literal.name) > length:
                    raise _wrong(literal, f"char({length})", column.name, f"a text of {length} characters")
                literal.set("this", literal.name.ljust(length))
    return copied


def _typed_item(item: exp.Expr, arrow_type: pa.DataType, column: str) -> exp.Expr:
    literal = bare(item)
    if not isinstance(literal, (exp.Literal, exp.Boolean)):
        return item
    typed = _typed(literal, arrow_type, column)
    if literal is item:
        return typed
    literal.replace(typed)
    return item


def _typed(literal: exp.Expr, arrow_type: pa.DataType, column: str) -> exp.Expr:
    is_text = literal.is_string
    is_number = isinstance(literal, exp.Literal) and not is_text
    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        if not is_number:
            raise _wrong(literal, arrow_type, column, "a number")
    elif pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        if not is_text:
            raise _wrong(literal, arrow_type, column, "a text")
    elif pa.types.is_boolean(arrow_type) and isinstance(literal, exp.Literal):
        if literal.name.lower() not in _BOOLEANS:
            raise _wrong(literal, arrow_type, column, "true or false")
        return exp.Boolean(this=_BOOLEANS[literal.name.lower()])
    elif pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):
        moment = moment_of_text(literal.name) if is_text else None
        if moment is None:
            raise _wrong(literal, arrow_type, column, "a text such as '2024-12-31'")
        return _cast(moment, literal.name, arrow_type)
    return literal


def _cast(moment: date | datetime, text: str, arrow_type: pa.DataType) -> exp.Expr:
    zoned = pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    if pa.types.is_timestamp(arrow_type) and arrow_type.unit == "ns":
        return nanosecond_literal(in_utc(moment), text, zoned=zoned)
    if not zoned and not isinstance(moment, datetime):
        return exp.cast(exp.Literal.string(moment.isoformat()), "date")
    utc = in_utc(moment) if zoned else in_utc(moment).replace(tzinfo=None)
    return exp.cast(exp.Literal.string(utc.isoformat(sep=" ")), "timestamptz" if zoned else "timestamp")


def _wrong(literal: exp.Expr, arrow_type: pa.DataType | str, column: str, wanted: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"{printable(column, 60)} is of type {arrow_type}: compare it with {wanted}, not with "
        f"{printable(literal.sql(), 60)}",
        reason="literal_type",
    )
