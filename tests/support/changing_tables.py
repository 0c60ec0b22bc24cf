"""Delta and Iceberg tables that change at random: rows come and go, columns are renamed, dropped, added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, IntegerType, LongType, StringType

_ICEBERG = {"int": IntegerType(), "double": DoubleType(), "text": StringType()}
_ARROW = {"int": pa.int32(), "double": pa.float64(), "text": pa.string(), "long": pa.int64()}
KINDS = tuple(_ICEBERG)

_COLUMNS = (("i", "int"), ("f", "double"), ("s", "text"))

VALUES = st.tuples(
    st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31), None]),
    st.sampled_from([0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan, None]),
    st.sampled_from(["", "a", "é" * 20, "\U0010ffff" * 17, "z" * 40, "z" * 15 + "\U0010ffff" * 3, None]),
)
"""Values of one row, one for each kind of column."""
ROWS = st.lists(VALUES, min_size=1, max_size=5)
OPERATIONS = st.one_of(
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("overwrite"), ROWS),
    st.tuples(st.sampled_from(["delete", "compact"]), st.none()),
    st.tuples(st.sampled_from(["rename", "swap", "drop", "add", "replace", "widen"]), st.none()),
)


@dataclass
class ChangingIceberg:
    """An Iceberg table of an SQL catalog; ``columns``: names and kinds, in the table's order."""

    catalog: SqlCatalog
    name: str
    columns: list[tuple[str, str]] = field(default_factory=lambda: [*_COLUMNS])
    made: int = 0

    def __post_init__(self) -> None:
        self.catalog.create_table(f"n.{self.name}", self.rows([]).schema)

    @property
    def table(self) -> Table:
        return self.catalog.load_table(f"n.{self.name}")

    @property
    def path(self) -> str:
        return self.table.location().removeprefix("file://")

    def rows(self, values: Sequence[tuple[Any, ...]]) -> pa.Table:
        """Return rows with the columns that the table has now."""
        columns = {}
        for name, kind in self.columns:
            at = KINDS.index("int" if kind == "long" else kind)
            columns[name] = pa.array([row[at] for row in values], _ARROW[kind])
        return pa.table(columns)

    def change(self, kind: str, values: Any) -> None:
        table = self.table
        names = [name for name, _ in self.columns]
        if kind == "append":
            table.append(self.rows(values))
        elif kind == "overwrite":
            table.overwrite(self.rows(values))
        elif kind == "delete":
            table.delete(f"{next((n for n, k in self.columns if k != 'text'), names[0])} is null")
        elif kind == "compact":
            if table.current_snapshot() is not None:
                table.overwrite(table.scan().to_arrow())
        else:
            with table.update_schema(allow_incompatible_changes=True) as update:
                self._change_schema(kind, update, names)

    def _change_schema(self, kind: str, update: Any, names: list[str]) -> None:
        first, first_kind = self.columns[0]
        self.made += 1
        if kind == "rename":
            update.rename_column(first, f"{first}{self.made}")
            self.columns[0] = f"{first}{self.made}", first_kind
        elif kind == "swap" and len(names) > 1:
            last, last_kind = self.columns[-1]
            update.rename_column(first, last).rename_column(last, first)
            self.columns[0], self.columns[-1] = (last, first_kind), (first, last_kind)
        elif kind == "drop" and len(names) > 1:
            update.delete_column(first)
            self.columns.pop(0)
        elif kind == "replace" and len(names) > 1:
            update.delete_column(first)
            update.add_column(first, _ICEBERG["int"])
            self.columns = [*self.columns[1:], (first, "int")]
        elif kind == "widen" and first_kind == "int":
            update.update_column(first, LongType())
            self.columns[0] = first, "long"
        elif kind == "add":
            update.add_column(f"n{self.made}", _ICEBERG["text"])
            self.columns.append((f"n{self.made}", "text"))

    def listed(self) -> set[str]:
        """Return the paths of the newest version's files, as the library tells them."""
        return {task.file.file_path.removeprefix("file://") for task in self.table.scan().plan_files()}

    def content(self) -> pa.Table:
        """Return the newest rows, as the library reads them."""
        return self.table.scan().to_arrow()


@dataclass
class ChangingDelta:
    """A Delta table that deltalake writes, which knows no renaming; ``columns``: names and kinds."""

    folder: Path
    columns: list[tuple[str, str]] = field(default_factory=lambda: [*_COLUMNS])
    made: int = 0

    def __post_init__(self) -> None:
        write_deltalake(self.path, self.rows([]))

    @property
    def path(self) -> str:
        return str(self.folder)

    def rows(self, values: Sequence[tuple[Any, ...]]) -> pa.Table:
        """Return rows with the columns that the table has now."""
        columns = {
            name: pa.array([row[KINDS.index(kind)] for row in values], _ARROW[kind])
            for name, kind in self.columns
        }
        return pa.table(columns)

    def change(self, kind: str, values: Any) -> None:
        if kind == "append":
            write_deltalake(self.path, self.rows(values), mode="append", schema_mode="merge")
        elif kind == "overwrite":
            write_deltalake(self.path, self.rows(values), mode="overwrite", schema_mode="overwrite")
        elif kind == "delete":
            DeltaTable(self.path).delete("i is null")
        elif kind == "compact":
            DeltaTable(self.path).optimize.compact()
        elif kind in ("add", "widen"):
            self.made += 1
            self.columns.append((f"n{self.made}", "text"))
        elif kind in ("drop", "replace"):
            DeltaTable(self.path).create_checkpoint()

    def listed(self) -> set[str]:
        """Return the paths of the newest version's files, as the library tells them."""
        return set(DeltaTable(self.path).file_uris())

    def content(self) -> pa.Table:
        """Return the newest rows, as the library reads them."""
        return DeltaTable(self.path).to_pyarrow_table()
