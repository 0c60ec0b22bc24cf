"""Spark's ``xxhash64(value)`` of literals: XXH64 with seed 42 over Spark's binary form of the value.

Integers up to int and dates are 4 bytes, bigint and timestamps 8. Decimals of at most 18 digits are their
unscaled value as 8 bytes, wider ones the bytes of Java's BigInteger. -0.0 is 0.0, NaN is Java's canonical
NaN.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh64_intdigest

_SEED = 42
_NARROW_DIGITS = 18


def spark_xxhash64(values: pa.Array) -> npt.NDArray[np.uint64] | None:
    """Return the hashes of values without null, None for an unsupported type."""
    to_bytes = _bytes_of(values.type)
    if to_bytes is None:
        return None
    found = (xxh64_intdigest(to_bytes(each), _SEED) for each in _raw(values).to_pylist())
    return np.fromiter(found, np.uint64, len(values))


def _raw(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_date32(kind):
        return values.view(pa.int32())
    return values.view(pa.int64()) if pa.types.is_timestamp(kind) else values


def _bytes_of(kind: pa.DataType) -> Callable[[Any], bytes] | None:
    if pa.types.is_decimal(kind):
        return _narrow_decimal(kind.scale) if kind.precision <= _NARROW_DIGITS else _wide_decimal(kind.scale)
    return next((to_bytes for is_of, to_bytes in _BYTES if is_of(kind)), None)


def _int(value: Any) -> bytes:
    return struct.pack("<i", value)


def _long(value: Any) -> bytes:
    return struct.pack("<q", value)


def _float(value: Any) -> bytes:
    return struct.pack("<f", float("nan") if value != value else value + 0.0)


def _double(value: Any) -> bytes:
    return struct.pack("<d", float("nan") if value != value else value + 0.0)


def _narrow_decimal(scale: int) -> Callable[[Any], bytes]:
    return lambda value: _long(_unscaled(value, scale))


def _wide_decimal(scale: int) -> Callable[[Any], bytes]:
    def to_bytes(value: Any) -> bytes:
        number = _unscaled(value, scale)
        bits = (number if number >= 0 else ~number).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return to_bytes


def _unscaled(value: Any, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * int(10 ** (exponent + scale))
    return -number if sign else number


_BYTES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], bytes]], ...] = (
    (pa.types.is_boolean, _int),
    (pa.types.is_int64, _long),
    (pa.types.is_timestamp, _long),
    (pa.types.is_signed_integer, _int),
    (pa.types.is_date32, _int),
    (pa.types.is_float32, _float),
    (pa.types.is_float64, _double),
    (pa.types.is_string, str.encode),
    (pa.types.is_binary, bytes),
)
