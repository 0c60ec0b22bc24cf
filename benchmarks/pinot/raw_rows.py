"""The rows themselves, asked through DuckDB: what both trees have to agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pinot.star_tree_cases import PINOT_TYPES

_DUCKDB_TYPES = {"STRING": "VARCHAR", "INT": "INTEGER", "DOUBLE": "DOUBLE"}


class RawRows:
    """The rows of lineitem, in a database that knows Pinot's own functions."""

    def __init__(self, file: Path) -> None:
        """Read the CSV file."""
        self._database = duckdb.connect(config={"threads": 2})
        types = {name: _DUCKDB_TYPES[kind] for name, kind in PINOT_TYPES.items() if name.startswith("l_")}
        selected = ", ".join(types)
        self._database.execute(
            f"CREATE TABLE lineitem AS SELECT {selected} FROM read_csv('{file}', types = {types})"
        )
        self._database.execute("CREATE MACRO MINMAXRANGE(x) AS MAX(x) - MIN(x)")
        self._masks: dict[tuple[str, int], npt.NDArray[np.bool_]] = {}

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the answer of one query of ``lineitem``."""
        return self._database.execute(sql).fetchall()

    def matching(self, condition: str) -> int:
        """Return how many rows meet a condition."""
        return int(self.ask(f"SELECT COUNT(*) FROM lineitem WHERE {condition or 'TRUE'}")[0][0])

    def sorted_values(
        self, column: str, group_by: Sequence[str]
    ) -> Mapping[tuple[Any, ...], npt.NDArray[np.float64]]:
        """Return all values of a column, sorted, by group."""
        keys = "".join(f"{name}, " for name in group_by)
        grouped = f" GROUP BY {', '.join(group_by)}" if group_by else ""
        found = self.ask(f"SELECT {keys}list_sort(list({column})) FROM lineitem{grouped}")
        return {row[:-1]: np.array(row[-1], np.float64) for row in found}

    def mask(self, dimension: str, condition: str, values: pa.Array) -> npt.NDArray[np.bool_]:
        """Return which values of a dimension meet a condition on it."""
        key = (condition, hash(tuple(values.to_pylist())))
        if key not in self._masks:
            table = pa.table({dimension: values, "position": pa.array(range(len(values)))})
            self._database.register("dictionary", table)
            found = self.ask(f"SELECT {condition} FROM dictionary ORDER BY position")
            self._masks[key] = np.array([row[0] for row in found], np.bool_)
        return self._masks[key]
