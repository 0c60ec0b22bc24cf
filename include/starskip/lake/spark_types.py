"""Names of Spark's types for Arrow's, as ``ReadSchema`` and ``simpleString`` write them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

_NAMES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def spark_type(kind: pa.DataType) -> str:
    """Return the name of Spark's type; the Arrow type's own of what Spark has no such type for."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return spark_struct(kind)
    if pa.types.is_map(kind):
        return f"map<{spark_type(kind.key_type)},{spark_type(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    return _NAMES.get(kind, str(kind))


def spark_struct(fields: Iterable[pa.Field]) -> str:
    """Return columns, or fields of a struct, as ``struct<id:bigint,name:string>``."""
    return f"struct<{','.join(f'{each.name}:{spark_type(each.type)}' for each in fields)}>"
