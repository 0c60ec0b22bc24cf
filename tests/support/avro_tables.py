"""Writes Avro files of blocks of few rows, by the specification alone, for tests without Spark."""

from __future__ import annotations

import bz2
import json
import lzma
import random
import struct
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

SYNC = bytes(range(16))
_EPOCH = datetime(1970, 1, 1)


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def _snappy(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="snappy")) + zlib.crc32(content).to_bytes(4, "big")


CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflated,
    "snappy": _snappy,
    "zstandard": zstandard.ZstdCompressor().compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def long(number: int) -> bytes:
    """A whole number in zigzag code."""
    code = (number << 1) ^ (number >> 63)
    found = bytearray()
    while code >= 0x80:
        found.append(code & 0x7F | 0x80)
        code >>= 7
    found.append(code)
    return bytes(found)


def _sized(content: bytes) -> bytes:
    return long(len(content)) + content


def _micros(value: datetime) -> int:
    delta = value.astimezone(UTC).replace(tzinfo=None) - _EPOCH if value.tzinfo else value - _EPOCH
    return round(delta.total_seconds() * 1e6)


def _decimal(value: Decimal, scale: int) -> bytes:
    unscaled = int(value.scaleb(scale))
    return _sized(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True))


def _typed(name: str, kind: pa.DataType) -> tuple[Any, Callable[[Any], bytes]]:
    """Avro's type of a column, and the encoding of a value that is not null."""
    if pa.types.is_struct(kind):
        fields = [(each.name, *_nullable(f"{name}_{each.name}", each.type)) for each in kind]
        schema = {
            "type": "record",
            "name": name,
            "fields": [{"name": of, "type": to} for of, to, _ in fields],
        }
        return schema, lambda value: b"".join(encode(value[of]) for of, _, encode in fields)
    if pa.types.is_decimal(kind):
        logical = {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
        return logical, lambda value: _decimal(value, kind.scale)
    if pa.types.is_timestamp(kind):
        local = "timestamp-micros" if kind.tz else "local-timestamp-micros"
        return {"type": "long", "logicalType": local}, lambda value: long(_micros(value))
    found: Mapping[pa.DataType, tuple[Any, Callable[[Any], bytes]]] = {
        pa.int16(): ("int", long),
        pa.int32(): ("int", long),
        pa.int64(): ("long", long),
        pa.uint64(): (
            {"type": "bytes", "logicalType": "decimal", "precision": 20},
            lambda of: _decimal(Decimal(of), 0),
        ),
        pa.float32(): ("float", lambda of: struct.pack("<f", of)),
        pa.float64(): ("double", lambda of: struct.pack("<d", of)),
        pa.bool_(): ("boolean", lambda of: bytes([of])),
        pa.string(): ("string", lambda of: _sized(of.encode())),
        pa.binary(): ("bytes", _sized),
        pa.date32(): ({"type": "int", "logicalType": "date"}, lambda of: long((of - date(1970, 1, 1)).days)),
    }
    return found[kind]


def _nullable(name: str, kind: pa.DataType) -> tuple[Any, Callable[[Any], bytes]]:
    schema, encode = _typed(name, kind)
    return ["null", schema], lambda value: long(0) if value is None else long(1) + encode(value)


def write_avro(rows: pa.Table, path: Path, draw: random.Random) -> None:
    """Write rows in blocks of few, with one of the codecs."""
    columns = [(each.name, *_nullable(f"of_{each.name}", each.type)) for each in rows.schema]
    schema = {"type": "record", "name": "row", "fields": [{"name": of, "type": to} for of, to, _ in columns]}
    codec = draw.choice(sorted(CODECS))
    metadata = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    head = b"".join(_sized(key.encode()) + _sized(value) for key, value in metadata.items())
    content = b"Obj\x01" + long(len(metadata)) + head + long(0) + SYNC
    of_block = draw.choice([1, 7, 1000])
    for start in range(0, rows.num_rows, of_block):
        some = rows.slice(start, of_block).to_pylist()
        packed = CODECS[codec](b"".join(encode(row[of]) for row in some for of, _, encode in columns))
        content += long(len(some)) + _sized(packed) + SYNC
    path.write_bytes(content)
