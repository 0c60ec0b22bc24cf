"""Match columns of a Delta or Iceberg table by their identity in files, not by their names in the table.

The identity of a column in files is its id in Iceberg, its physical name in Delta. A renamed column keeps its
identity; a column that is dropped and added again gets another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark.sql.pandas.types import from_arrow_type

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.predicates.column_name import column_name, column_path
from starskip.predicates.expression import Call, Column, Expression
from starskip.secondary.column_ids import COLUMN_IDS
from starskip.secondary.indexed_segments import known_schema

COLUMNS = "starskip.columns"
"""Entry of the options of metadata: JSON, each indexed column's identity in files, and its type in Spark."""
Path = tuple[str, ...]
_WITHOUT_INDEX = "\0"
_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as files know it; ``kind``: its type in Spark when its values were collected."""

    identity: str
    kind: str


def identity_of(column: SnapshotColumn, table_format: str) -> str:
    """Return the identity of a column in a table's files."""
    return str(column.field_id) if table_format == "iceberg" else column_name(column.stored)


@lru_cache(maxsize=256)
def identities(schema: str, table_format: str) -> Mapping[Path, str]:
    """Return the identities in files of the columns of a table's JSON schema, by their paths of names."""
    document = json.loads(schema)
    found = _of_iceberg(document, ()) if table_format == "iceberg" else _of_delta(document, (), ())
    return dict(found)


def _of_iceberg(struct: Mapping[str, Any], above: Path) -> Iterator[tuple[Path, str]]:
    for each in struct["fields"]:
        path = (*above, each["name"])
        yield path, str(each["id"])
        if isinstance(each["type"], dict) and each["type"]["type"] == "struct":
            yield from _of_iceberg(each["type"], path)


def _of_delta(struct: Mapping[str, Any], above: Path, stored: Path) -> Iterator[tuple[Path, str]]:
    for each in struct["fields"]:
        path = (*above, each["name"])
        place = (*stored, each.get("metadata", {}).get(_PHYSICAL, each["name"]))
        yield path, column_name(place)
        if isinstance(each["type"], dict) and each["type"]["type"] == "struct":
            yield from _of_delta(each["type"], path, place)


def columns_text(columns: Mapping[str, StoredColumn]) -> str:
    """Return indexed columns, by their names in the metadata, as the text of ``COLUMNS``."""
    return json.dumps({name: [each.identity, each.kind] for name, each in sorted(columns.items())})


def stored_columns(options: Mapping[str, str]) -> dict[str, StoredColumn]:
    """Return the indexed columns of metadata by their names in it, from the options of its source."""
    found = json.loads(options.get(COLUMNS, "{}"))
    return {name: StoredColumn(*each) for name, each in found.items()}


def secondary_columns_of(table: TableMetadata) -> dict[str, StoredColumn]:
    """Return the columns that secondary indexes can index, by their names when they were indexed."""
    identities: Mapping[str, str] = json.loads(table.source.options.get(COLUMN_IDS, "{}"))
    found = {}
    for path, kind in known_schema(table).types().items():
        name = column_name(path)
        if name in identities:
            with suppress(Exception):  # PySpark's own errors for types that it lacks, of several classes
                type_ = str(from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString())
                found[name] = StoredColumn(identities[name].removeprefix("#"), type_)
    return found


@dataclass(frozen=True, slots=True)
class MetColumn:
    """A column of a query: its ``name`` in the table, its identity in files, and its type in Spark."""

    name: str
    identity: str
    data_type: str


@dataclass(slots=True)
class ColumnTranslation:
    """Translates expressions over a table's present columns to the metadata's names of these columns.

    ``present``: the columns' identities in files, by path; ``known``: the columns of the metadata by name.
    ``bounded``: whether columns without an index stay known, by a name that no column can have, since the
    table's format may have bounds of them. ``changed``: names of columns whose type differs from the
    collected one. ``met``: the columns in the expressions so far, by their names there.
    """

    present: Mapping[Path, str]
    known: Mapping[str, StoredColumn]
    bounded: bool = False
    changed: set[str] = field(default_factory=set)
    met: dict[str, MetColumn] = field(default_factory=dict)
    _done: dict[int, tuple[Expression, Expression]] = field(default_factory=dict)
    _by_identity: dict[str, tuple[Path, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Index the metadata's columns by their identity in files."""
        self._by_identity = {
            each.identity: (column_path(name), each.kind) for name, each in self.known.items()
        }

    def of(self, expression: Expression) -> Expression:
        """Return the expression over the metadata's columns; others become unknown."""
        found = self._done.get(id(expression))
        if found is None:
            # The expression is kept alive, so that its id is not reused.
            found = self._done[id(expression)] = expression, self._made(expression)
        return found[1]

    def _made(self, expression: Expression) -> Expression:
        if isinstance(expression, Column):
            return self._column(expression)
        if isinstance(expression, Call):
            return Call(expression.name, tuple(map(self.of, expression.arguments)))
        return expression

    def _column(self, column: Column) -> Expression:
        identity = self.present.get(column.path)
        path, kind = self._by_identity.get(identity or "", ((), ""))
        if path and kind != column.data_type:
            self.changed.add(f"{column_name(column.path)} was {kind}, and is {column.data_type} now")
            path = ()
        if not path and self.bounded and identity:
            path = (_WITHOUT_INDEX, identity)
        if not path or identity is None:
            return Call("Unknown", (column,))
        self.met[column_name(path)] = MetColumn(column_name(column.path), identity, column.data_type)
        return Column(path, column.data_type)
