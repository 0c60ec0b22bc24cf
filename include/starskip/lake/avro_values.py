"""Decodes values of Avro's binary encoding, with the Arrow types of what Spark reads.

A decoder takes the bytes and a place in them, and returns a value and the place behind it
(Avro 1.12, "Specification").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from starskip.lake.data_pieces import UnlikeSpark

Decode = Callable[[bytes, int], tuple[Any, int]]

_DECIMALS = Context(prec=76)
_SPARK_TYPE = "spark.sql.catalyst.type"


@dataclass(frozen=True, slots=True)
class AvroField:
    """A column of a file: its name, Arrow type and decoder."""

    name: str
    kind: pa.DataType
    decode: Decode


def avro_fields(schema: Any) -> list[AvroField]:
    """Return the columns of a file's schema, parsed from its JSON.

    Raises UnlikeSpark for a type that is not read, and ValueError for what is no schema.
    """
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise UnlikeSpark("its rows are no records")
    try:
        return _Types().fields(schema, "")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("its schema is none of Avro's") from error


def long_at(data: bytes, at: int) -> tuple[int, int]:
    """Return a whole number in zigzag code of variable length."""
    byte = data[at]
    at += 1
    found, shift = byte & 0x7F, 7
    while byte & 0x80:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
    return (found >> 1) ^ -(found & 1), at


def bytes_at(data: bytes, at: int) -> tuple[bytes, int]:
    """Return bytes behind their length."""
    length, at = long_at(data, at)
    if length < 0 or at + length > len(data):
        raise ValueError("a text is longer than its block")
    return data[at : at + length], at + length


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, at = bytes_at(data, at)
    return found.decode(), at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] == 1, at + 1


def _float(data: bytes, at: int) -> tuple[float, int]:
    return struct.unpack_from("<f", data, at)[0], at + 4


def _double(data: bytes, at: int) -> tuple[float, int]:
    return struct.unpack_from("<d", data, at)[0], at + 8


def _nothing(_: bytes, at: int) -> tuple[None, int]:
    return None, at


_PLAIN: Mapping[str, tuple[pa.DataType, Decode]] = {
    "null": (pa.null(), _nothing),
    "boolean": (pa.bool_(), _boolean),
    "int": (pa.int32(), long_at),
    "long": (pa.int64(), long_at),
    "float": (pa.float32(), _float),
    "double": (pa.float64(), _double),
    "bytes": (pa.binary(), bytes_at),
    "string": (pa.string(), _text),
}
_LOGICAL: Mapping[tuple[str, str], tuple[pa.DataType, int]] = {
    ("int", "date"): (pa.date32(), 1),
    ("long", "timestamp-micros"): (pa.timestamp("us", "UTC"), 1),
    ("long", "timestamp-millis"): (pa.timestamp("us", "UTC"), 1_000),
    ("long", "local-timestamp-micros"): (pa.timestamp("us"), 1),
    ("long", "local-timestamp-millis"): (pa.timestamp("us"), 1_000),
}
"""Arrow's type, and its units in one of Avro's."""


class _Types:
    """The types of one schema; ``named``: those that may be meant by their name, None while one is read."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[pa.DataType, Decode] | None] = {}

    def fields(self, schema: Mapping[str, Any], space: str) -> list[AvroField]:
        name, space = _full_name(schema, space)
        self._named[name] = None
        return [AvroField(each["name"], *self.type_of(each["type"], space)) for each in schema["fields"]]

    def type_of(self, schema: Any, space: str) -> tuple[pa.DataType, Decode]:
        if isinstance(schema, str):
            return self._by_name(schema, space)
        if isinstance(schema, list):
            return self._union([self.type_of(each, space) for each in schema])
        name = schema["type"]
        if _SPARK_TYPE in schema:
            raise UnlikeSpark(f"it has a column of Spark's type {schema[_SPARK_TYPE]}, which is not read")
        if not isinstance(name, str):
            return self.type_of(name, space)
        logical = schema.get("logicalType")
        if logical is not None and logical != "uuid":
            return _logical(name, logical, schema)
        if name == "record":
            return self._record(schema, space)
        if name == "enum":
            return self._keep(schema, space, (pa.string(), _symbol(list(schema["symbols"]))))
        if name == "fixed":
            return self._keep(schema, space, (pa.binary(), _fixed(int(schema["size"]))))
        if name == "array":
            kind, decode = self.type_of(schema["items"], space)
            return pa.list_(pa.field("element", kind)), _items(decode)
        if name == "map":
            kind, decode = self.type_of(schema["values"], space)
            return pa.map_(pa.string(), kind), _items(_pair(decode))
        return self._by_name(name, space)

    def _by_name(self, name: str, space: str) -> tuple[pa.DataType, Decode]:
        if name in _PLAIN:
            return _PLAIN[name]
        full = name if "." in name or not space else f"{space}.{name}"
        found = self._named.get(full, self._named.get(name))
        if found is None:
            raise UnlikeSpark(f"its type {name} holds itself, or is not told")
        return found

    def _keep(
        self, schema: Mapping[str, Any], space: str, found: tuple[pa.DataType, Decode]
    ) -> tuple[pa.DataType, Decode]:
        self._named[_full_name(schema, space)[0]] = found
        return found

    def _record(self, schema: Mapping[str, Any], space: str) -> tuple[pa.DataType, Decode]:
        fields = self.fields(schema, space)
        kind = pa.struct([pa.field(each.name, each.kind) for each in fields])
        return self._keep(schema, space, (kind, _struct(fields)))

    def _union(self, branches: Sequence[tuple[pa.DataType, Decode]]) -> tuple[pa.DataType, Decode]:
        kinds = {kind for kind, _ in branches if not pa.types.is_null(kind)}
        decode = _branch([decode for _, decode in branches])
        if len(kinds) == 1:
            return kinds.pop(), decode
        for narrow, wide in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64())):
            if kinds == {narrow, wide}:
                return wide, decode
        raise UnlikeSpark("it has a union of several types")


def _full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    name = schema["name"]
    inner = name.rpartition(".")[0] if "." in name else schema.get("namespace", space) or ""
    return (name if "." in name or not inner else f"{inner}.{name}"), inner


def _logical(name: str, logical: str, schema: Mapping[str, Any]) -> tuple[pa.DataType, Decode]:
    if logical == "decimal" and name in ("bytes", "fixed"):
        scale = int(schema.get("scale", 0))
        read = bytes_at if name == "bytes" else _fixed(int(schema["size"]))
        return pa.decimal128(int(schema["precision"]), scale), _decimal(read, scale)
    if (name, logical) not in _LOGICAL:
        raise UnlikeSpark(f"it has a column of the logical type {logical}, which is not read")
    kind, units = _LOGICAL[name, logical]
    return kind, long_at if units == 1 else _times(units)


def _times(units: int) -> Decode:
    def decode(data: bytes, at: int) -> tuple[int, int]:
        found, at = long_at(data, at)
        return found * units, at

    return decode


def _decimal(read: Decode, scale: int) -> Decode:
    def decode(data: bytes, at: int) -> tuple[Decimal, int]:
        found, at = read(data, at)
        unscaled = int.from_bytes(found, "big", signed=True)
        return Decimal(unscaled).scaleb(-scale, _DECIMALS), at

    return decode


def _fixed(size: int) -> Decode:
    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        if at + size > len(data):
            raise ValueError("a value is longer than its block")
        return data[at : at + size], at + size

    return decode


def _symbol(symbols: Sequence[str]) -> Decode:
    def decode(data: bytes, at: int) -> tuple[str, int]:
        number, at = long_at(data, at)
        return symbols[number], at

    return decode


def _branch(branches: Sequence[Decode]) -> Decode:
    def decode(data: bytes, at: int) -> tuple[Any, int]:
        number, at = long_at(data, at)
        return branches[number](data, at)

    return decode


def _pair(decode_value: Decode) -> Decode:
    def decode(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = _text(data, at)
        value, at = decode_value(data, at)
        return (key, value), at

    return decode


def _struct(fields: Sequence[AvroField]) -> Decode:
    pairs = [(each.name, each.decode) for each in fields]

    def decode(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        found = {}
        for name, decode_field in pairs:
            found[name], at = decode_field(data, at)
        return found, at

    return decode


def _items(decode_item: Decode) -> Decode:
    def decode(data: bytes, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            count, at = long_at(data, at)
            if not count:
                return found, at
            if count < 0:
                count = -count
                _, at = long_at(data, at)
            for _ in range(count):
                item, at = decode_item(data, at)
                found.append(item)

    return decode
