"""Evaluate predicates and group expressions over the distinct values of one dimension.

A star-tree's predicates see dictionaries of distinct values, never rows: any predicate on one column that
DuckDB can compute (IN, LIKE, ranges, any nesting of AND, OR and NOT, IS NULL, functions) becomes a mask over
codes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from starskip.sql.sandboxed_duckdb import SandboxedDuckDB
from starskip.sql.typed_literals import with_typed_literals
from starskip.star_tree.newest_values import NewestValues

CACHED_BYTES = 64 << 20

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Grouping:
    """``codes``: the position in ``values`` for each code of the dimension; the last code is null's."""

    codes: Codes
    values: pa.Array


class ScalarExpressions:
    """Dictionaries as tables in a database, made at first use, and the newest results; safe for threads."""

    def __init__(self, database: SandboxedDuckDB) -> None:
        self._database = database
        self._tables: dict[Hashable, str] = {}
        self._newest: NewestValues[Hashable, Mask | Grouping] = NewestValues(CACHED_BYTES)
        self._lock = Lock()

    def mask(self, key: Hashable, column: str, values: pa.Array, predicate: exp.Expr) -> Mask:
        """Return which of ``values``, and null as the last, make ``predicate`` on ``column`` TRUE.

        ``key`` identifies the dictionary. Raises UnsupportedQuery for a predicate that cannot be computed.
        """
        text = (key, "mask", _text(predicate, column, values.type))
        found = self._newest.get(text)
        if not isinstance(found, np.ndarray):
            where = f"SELECT code FROM {self._table(key, values)} WHERE {text[2]}"  # noqa: S608 - see _text
            found = np.zeros(len(values) + 1, np.bool_)
            found[self._database.rows(where).column(0).to_numpy()] = True
            found.flags.writeable = False
            self._newest.keep(text, found, found.nbytes)
        return found

    def grouping(self, key: Hashable, column: str, values: pa.Array, expression: exp.Expr) -> Grouping:
        """Return the distinct results of ``expression`` over ``values`` and null."""
        text = (key, "grouping", _text(expression, column, values.type))
        found = self._newest.get(text)
        if not isinstance(found, Grouping):
            select = f"SELECT {text[2]} FROM {self._table(key, values)} ORDER BY code"  # noqa: S608 - see _text
            encoded = (
                self._database.rows(select)
                .column(0)
                .combine_chunks()
                .dictionary_encode(null_encoding="encode")
            )
            found = Grouping(encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary)
            self._newest.keep(text, found, found.codes.nbytes + found.values.nbytes)
        return found

    def is_true(self, constant: exp.Expr) -> bool:
        """Return whether an expression without a column is TRUE."""
        rows: int = self._database.rows(f"SELECT 1 WHERE {_text(constant, '', pa.null())}").num_rows
        return rows > 0

    def _table(self, key: Hashable, values: pa.Array) -> str:
        with self._lock:
            name = self._tables.get(key)
            if name is None:
                with_null = pa.chunked_array([values, pa.nulls(1, values.type)])
                codes = pa.array(np.arange(len(values) + 1, dtype=np.int32))
                name = self._database.keep(pa.table([codes, with_null], names=["code", "value"]))
                self._tables[key] = name
        return name


def _text(expression: exp.Expr, column: str, arrow_type: pa.DataType) -> str:
    """Return the expression as DuckDB's SQL over a column called ``value``, generated from the tree."""
    over = with_typed_literals(expression, {column: arrow_type})
    renamed = over.transform(
        lambda node: exp.column("value", quoted=True) if isinstance(node, exp.Column) else node
    )
    return str(renamed.sql(dialect="duckdb", comments=False))
