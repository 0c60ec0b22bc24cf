"""Convert Catalyst's literals to Arrow exactly; None in doubt.

The JSON of a plan has literals as strings: timestamps in the session's zone without offset, a binary value as
the identity of its array, and no values of InSet. Those are fetched from the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from starskip.predicates.data_types import literal_type_of
from starskip.predicates.expression import Literal, LiteralSet
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.relation_facts import joined_texts

_SIMPLE = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_TEMPORAL = frozenset({"timestamp", "timestamp_ntz", "date"})
_ARRAY = re.compile(r"\[[^\[\]]+\]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LOST = "\ufffd"
"""Replaces invalid UTF-8, which Spark's strings may contain."""
_BETWEEN = "\u0001\u0000\u0002"


def simple_string(data_type: Any) -> str:
    """Return ``DataType.simpleString`` of a type in JSON, a string or an object."""
    if isinstance(data_type, str):
        return _SIMPLE.get(data_type, data_type)
    kind = data_type["type"]
    if kind == "struct":
        fields = (f"{field['name']}:{simple_string(field['type'])}" for field in data_type["fields"])
        return f"struct<{','.join(fields)}>"
    if kind == "array":
        return f"array<{simple_string(data_type['elementType'])}>"
    if kind == "map":
        return f"map<{simple_string(data_type['keyType'])},{simple_string(data_type['valueType'])}>"
    return str(kind)


def arrow_type(data_type: Any) -> pa.DataType | None:
    """Return the Arrow type of a type's values, None for types that metadata cannot be compared with."""
    return literal_type_of(simple_string(data_type)) if isinstance(data_type, str) else None


def literal(node: Node, plan: Any) -> Literal | None:
    """Return the value of a Literal node; ``plan`` is the root in the JVM."""
    text, data_type = node.fields["value"], node.fields["dataType"]
    if text is None:
        return Literal(pa.scalar(None, arrow_type(data_type) or pa.null()))
    if arrow_type(data_type) is None:
        return None
    if data_type == "date" and _DATE.fullmatch(text) and not text.startswith("0000"):
        return Literal(pa.scalar(date.fromisoformat(text), pa.date32()))
    if data_type in _TEMPORAL or data_type == "binary":
        return _made(node.java(plan).value(), data_type)
    return _made(text, data_type)


def in_set_values(node: Node, data_type: Any, plan: Any) -> LiteralSet | None:
    """Return the values of an InSet node that compares with a column of ``data_type``, None if unknown.

    Binary values cannot be fetched in one call, and are unknown.
    """
    kind = arrow_type(data_type)
    if kind is None or data_type == "binary":
        return None
    values = node.java(plan).hset()
    texts = joined_texts(values, _BETWEEN).split(_BETWEEN)
    if len(texts) != values.size():
        return None
    has_null = bool(values.contains(None))
    if has_null:
        texts.remove("null")
    found = [_made(text, data_type) for text in texts]
    known = [each.value for each in found if each is not None]
    return LiteralSet(pa.array(known, kind), has_null) if len(known) == len(found) else None


def array_literal(node: Node) -> Literal | None:
    """Return the value of a Literal that is an array of numbers without null, None for other nodes."""
    data_type, text = node.fields.get("dataType"), node.fields.get("value")
    if node.name != "Literal" or not isinstance(data_type, Mapping) or data_type["type"] != "array":
        return None
    element = data_type["elementType"]
    kind = arrow_type(element)
    if kind is None or not _is_number(kind) or text is None or not _ARRAY.fullmatch(text):
        return None
    found = [_made(each, element) for each in text[1:-1].split(",")]
    known = [each.python for each in found if each is not None]
    return Literal(pa.scalar(known, pa.list_(kind))) if len(known) == len(found) else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def literal_set(literals: list[Literal]) -> LiteralSet | None:
    """Return the literals of an IN as one set, None if their types differ."""
    known = [each.value for each in literals if each.value.is_valid]
    kinds = {each.value.type for each in literals}
    if len(kinds) != 1:
        return None
    return LiteralSet(pa.array(known, kinds.pop()), has_null=len(known) < len(literals))


def _made(value: Any, data_type: str) -> Literal | None:
    """Convert Catalyst's value, or its text, to a literal."""
    kind = arrow_type(data_type)
    made: Any
    try:
        if data_type in _INTEGERS:
            made = pa.scalar(int(value), kind)
        elif data_type in _TEMPORAL:
            width = pa.int32() if data_type == "date" else pa.int64()
            made = pa.array([int(value)], width).view(kind)[0]
        elif data_type in ("float", "double"):
            made = pa.scalar(float(value), kind)
        elif data_type == "boolean":
            made = pa.scalar({"true": True, "false": False}[value], kind)
        elif data_type == "binary":
            made = pa.scalar(bytes(value), kind)
        elif pa.types.is_decimal(kind):
            made = pa.scalar(Decimal(value), kind)
        else:
            made = None if _LOST in value else pa.scalar(value, kind)
    except (ValueError, KeyError, ArithmeticError, TypeError, pa.ArrowException):
        return None
    return None if made is None else Literal(made)
