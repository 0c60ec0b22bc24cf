"""Tables of a few small files, written without Spark from what was drawn."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from skipping_on_spark.column_kinds import EPOCH, NESTED, PARTITIONED, ColumnKind
from skipping_tables import OLD_S

ROWS_OF_A_FILE = 10_000
"""The column ``row`` tells the file, too: it is the file's number times this and the position."""
FORMATS = ("parquet", "orc", "json", "csv")
SELF_DESCRIBING = ("parquet",)
"""Their values are the same in all time zones."""
_OPTIONS = {
    "csv": {
        "nullValue": "\\N",
        "emptyValue": "",
        "escape": '"',
        "columnPruning": "false",
        "multiLine": "true",
    }
}
Columns = Mapping[str, list[Any]]


@dataclass(frozen=True)
class DataFile:
    """``rows`` of each column, fields of structs by their dotted names, and what its folder says."""

    rows: int
    columns: Columns
    partition: Mapping[str, Any]


@dataclass(frozen=True)
class DataSet:
    """``kinds`` of its columns by their names in SQL; ``zone`` is the one that indexes are made in."""

    file_format: str
    zone: str
    kinds: Mapping[str, ColumnKind]
    files: tuple[DataFile, ...]

    def __repr__(self) -> str:
        files = [(each.rows, dict(each.columns), dict(each.partition)) for each in self.files]
        return f"DataSet({self.file_format}, {self.zone}, {files})"

    def known(self, name: str) -> list[Any]:
        """Return the values that a column has."""
        of_files = [(each.partition if name in PARTITIONED else each.columns)[name] for each in self.files]
        listed = of_files if name in PARTITIONED else [value for values in of_files for value in values]
        return [value for value in listed if value is not None]

    def write(self, folder: Path) -> None:
        """Write the files, old enough to be trusted."""
        for number, file in enumerate(self.files):
            names = (f"{name}={_folder_name(value)}" for name, value in file.partition.items())
            path = folder.joinpath(*names, f"part-{number}.{self.file_format}")
            path.parent.mkdir(parents=True, exist_ok=True)
            ids = [number * ROWS_OF_A_FILE + at for at in range(file.rows)]
            _WRITERS[self.file_format](path, self.kinds, ids, file.columns)
            os.utime(path, (OLD_S, OLD_S))

    def read(self, spark: SparkSession, folder: Path) -> DataFrame:
        """Return all rows; the schema is given, since values do not always tell it."""
        options = _OPTIONS.get(self.file_format, {})
        return spark.read.format(self.file_format).options(**options).schema(self._schema()).load(str(folder))

    def _schema(self) -> str:
        columns = [f"`{name}` {kind.sql}" for name, kind in self.kinds.items() if name not in NESTED]
        if any(name in NESTED for name in self.kinds):
            columns.append("n struct<x: bigint, `y z`: string, deep: struct<q: int>>")
        return ", ".join(["`row` int", *columns])


def _folder_name(value: Any) -> str:
    return "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe="")


def _arrow(kinds: Mapping[str, ColumnKind], ids: list[int], columns: Columns) -> pa.Table:
    arrays = {name: _array(kinds[name].arrow, column) for name, column in columns.items()}
    if all(name in columns for name in NESTED):
        inner = pa.StructArray.from_arrays([arrays.pop("n.deep.q")], ["q"])
        fields = [arrays.pop("n.x"), arrays.pop("n.`y z`"), inner]
        arrays["n"] = pa.StructArray.from_arrays(fields, ["x", "y z", "deep"])
    return pa.table({"row": pa.array(ids, pa.int32()), **arrays})


def _array(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _write_parquet(path: Path, kinds: Mapping[str, ColumnKind], ids: list[int], columns: Columns) -> None:
    rows = _arrow(kinds, ids, columns)
    pq.write_table(rows, path, row_group_size=max(1, len(ids) // 2), write_page_index=len(ids) % 2 == 1)


def _write_orc(path: Path, kinds: Mapping[str, ColumnKind], ids: list[int], columns: Columns) -> None:
    rows = _arrow(kinds, ids, columns)
    if "ts" in columns:
        # Spark's own timestamps there have no zone, and no parts of seconds before 1970.
        whole = [
            each if each is None or each > 0 else each // 1_000_000 * 1_000_000 for each in columns["ts"]
        ]
        at = rows.schema.get_field_index("ts")
        rows = rows.set_column(at, "ts", _array(pa.timestamp("us"), whole))
    orc.write_table(rows, path)


def _write_json(path: Path, kinds: Mapping[str, ColumnKind], ids: list[int], columns: Columns) -> None:
    documents = []
    for at, identity in enumerate(ids):
        document: dict[str, Any] = {"row": identity}
        for name, column in columns.items():
            inner = document
            *above, last = [part.strip("`") for part in name.split(".")]
            for part in above:
                inner = inner.setdefault(part, {})
            if (written := _text(kinds[name], column[at])) is not None:
                inner[last] = written
        documents.append(document)
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))


def _write_csv(path: Path, kinds: Mapping[str, ColumnKind], ids: list[int], columns: Columns) -> None:
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        for at, identity in enumerate(ids):
            cells = (_text(kinds[name], column[at]) for name, column in columns.items())
            writer.writerow([identity, *("\\N" if cell is None else cell for cell in cells)])


_WRITERS = {"parquet": _write_parquet, "orc": _write_orc, "json": _write_json, "csv": _write_csv}


def _text(kind: ColumnKind, value: Any) -> Any:
    """Return what JSON or CSV has for a value."""
    if value is None:
        return None
    if kind.sql.startswith("map<"):
        return dict(value)
    if isinstance(value, list):
        return [_of_float(each) if isinstance(each, float) else each for each in value]
    if kind.sql == "date":
        return str((EPOCH + timedelta(days=value)).date())
    if kind.sql == "timestamp":
        # Without an offset: what instant it is depends on the session's zone.
        return str(EPOCH + timedelta(microseconds=value))
    if kind.sql == "timestamp_ntz":
        return (EPOCH + timedelta(microseconds=value)).isoformat()
    if kind.sql in ("float", "double"):
        return _of_float(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def _of_float(value: float) -> Any:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value)
