"""A generated table: rows by segment, and Pinot's schema and configuration of it."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Rows = Mapping[str, Sequence[Any]]
"""Columns by name, all of the same length; a multi-value entry is a list, None is a null."""

Field = Literal["dimension", "metric", "time"]


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """``data_type`` is Pinot's; ``time_format``: of a DATE_TIME column; ``is_raw``: without dictionary."""

    name: str
    data_type: str
    field: Field = "dimension"
    is_multi_value: bool = False
    is_raw: bool = False
    time_format: str = ""


@dataclass(frozen=True, slots=True)
class GeneratedTable:
    """``segments``: the rows of each; ``sorted_column``: by which each segment's rows are sorted."""

    name: str
    columns: tuple[GeneratedColumn, ...]
    segments: tuple[Rows, ...]
    sorted_column: str
    handles_nulls: bool

    @property
    def rows(self) -> int:
        """Number of rows of all segments."""
        return sum(map(rows_of, self.segments))

    @property
    def schema(self) -> dict[str, Any]:
        """Pinot's schema."""
        specs: dict[Field, list[dict[str, Any]]] = {"dimension": [], "metric": [], "time": []}
        for column in self.columns:
            spec: dict[str, Any] = {"name": column.name, "dataType": column.data_type}
            if column.is_multi_value:
                spec["singleValueField"] = False
            if column.field == "time":
                spec |= {"format": column.time_format, "granularity": "1:DAYS"}
            specs[column.field].append(spec)
        return {
            "schemaName": self.name,
            "dimensionFieldSpecs": specs["dimension"],
            "metricFieldSpecs": specs["metric"],
            "dateTimeFieldSpecs": specs["time"],
        }

    def config(self, inverted: Sequence[str] = (), ranges: Sequence[str] = ()) -> dict[str, Any]:
        """Return Pinot's table configuration with these indexes."""
        time_column = next(column.name for column in self.columns if column.field == "time")
        return {
            "tableName": self.name,
            "tableType": "OFFLINE",
            "segmentsConfig": {"timeColumnName": time_column, "replication": "1"},
            "tenants": {},
            "tableIndexConfig": {
                "loadMode": "MMAP",
                "nullHandlingEnabled": self.handles_nulls,
                "noDictionaryColumns": [column.name for column in self.columns if column.is_raw],
                "invertedIndexColumns": list(inverted),
                "rangeIndexColumns": list(ranges),
            },
            "metadata": {},
        }

    def sorted_by(self, column: str, name: str) -> GeneratedTable:
        """Return the table ``name`` with the same rows in the same segments, sorted by another column."""
        segments = []
        for rows in self.segments:
            order = sorted(range(rows_of(rows)), key=lambda row, values=rows[column]: values[row])
            segments.append({key: [values[row] for row in order] for key, values in rows.items()})
        return GeneratedTable(name, self.columns, tuple(segments), column, self.handles_nulls)

    @property
    def checksum(self) -> str:
        """SHA-256 of all rows: another one means another generator."""
        found = hashlib.sha256()
        for rows in self.segments:
            for column in self.columns:
                found.update(f"{column.name}={list(rows[column.name])!r}\n".encode())
        return found.hexdigest()


def rows_of(rows: Rows) -> int:
    """Return how many rows there are."""
    return len(next(iter(rows.values())))


def write_csv(rows: Rows, file: Path) -> None:
    """Write rows as Pinot's CSV reader takes them: entries of a row joined by ``;``, a null empty."""
    with file.open("w", newline="", encoding="utf-8") as output:
        writer = csv.writer(output)
        writer.writerow(rows)
        for row in zip(*rows.values(), strict=True):
            writer.writerow([";".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row])
