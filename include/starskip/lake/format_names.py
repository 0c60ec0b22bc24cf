"""Names of the formats that tables of the lake are kept in."""

from __future__ import annotations

FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv")
FORMATS = (*FILE_FORMATS, "delta", "iceberg")
