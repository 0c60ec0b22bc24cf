"""Split records of multi-stage queries into one record a table, as if its leaf stage had run alone.

A log line has the counters of all leaf stages together. They are shared out by rule. Entries in filter go to
the tables whose scans are filtered, in proportion to the rows that these scans look at. Entries post filter
go to all tables in that proportion. A scan without a filter passes all its rows; the other passed rows are
shared like the entries in filter. Latency, exceptions and weight are the whole query's. A text without
recognised leaves stays as it is, once for each table that the line names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.known_names import known_table, with_known_tables
from starskip.advisor.workload.sql_text import sql_text
from starskip.errors import UnsupportedQuery
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.logs.record_columns import TABLE_SEPARATOR
from starskip.sql.leaf_queries import LeafQuery, leaf_queries
from starskip.sql.normalize_sql import Literal, normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.sql.query_text import query_text

LEAF = "multi_stage"
"""The ``line_format`` of a record that is a table's share of another."""

_MANY_SCANS = r"(?i)\b(?:join|with|union|intersect|except|minus)\b|\(\s*select\b"
_MOST_PLANS = 20_000
_BY_SEGMENTS = ("segments_queried", "segments_processed", "segments_matched")


@dataclass(frozen=True, slots=True)
class TableSize:
    """Size and names of a table that queries join: its rows, its columns and which of them are BOOLEAN."""

    rows: int
    columns: frozenset[str]
    booleans: frozenset[str] = frozenset()


@dataclass(slots=True)
class LeafRecords:
    """Shares records out among tables; ``size_of`` returns a table's size, None if it is not known.

    ``tables``: the tables that are known, as which the records' tables are spelled.
    """

    size_of: Callable[[str], TableSize | None]
    tables: Collection[str] = ()
    _plans: dict[tuple[str, bool], tuple[LeafQuery, ...]] = field(default_factory=dict)

    def shared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return query records (LOG_RECORDS, or columns of it); records of several scans are shared out."""
        batch = with_known_tables(batch, self.tables)
        text = batch.column("query_text")
        several = pc.or_kleene(
            pc.match_substring(batch.column("table"), TABLE_SEPARATOR),
            pc.match_substring_regex(text, _MANY_SCANS),
        )
        several = pc.fill_null(several, False)
        if not pc.any(several).as_py():
            return batch
        rows = [leaf for row in batch.filter(several).to_pylist() for leaf in self._leaves(row)]
        alone = batch.filter(pc.invert(several))
        found = pa.RecordBatch.from_pylist(rows, schema=batch.schema)
        return pa.concat_batches([alone, found])

    def _leaves(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        named = (row["table"] or "").split(TABLE_SEPARATOR)
        cut = normalize_sql(sql_text(row["query_text"] or "", row.get("line_format")))
        plan = self._plan(cut.skeleton, is_several=len(named) > 1)
        leaves = {table: leaf for leaf in plan if (table := _logged_name(leaf.table, named)) is not None}
        types = {
            table: without_type(leaf.table)[1] or row.get("table_type") for table, leaf in leaves.items()
        }
        texts = {table: _leaf_text(leaf, cut.literals) for table, leaf in leaves.items()}
        line_format: str | None = LEAF
        if not leaves:
            if len(named) == 1:
                return [row]
            texts = dict.fromkeys(named, row["query_text"])
            leaves = {table: LeafQuery(table, "", (), 1, 1) for table in named}
            line_format = row.get("line_format")
        shares = self._shares(row, leaves)
        return [
            row
            | shares[table]
            | {"table": table, "query_text": text, "line_format": line_format}
            | ({"table_type": types[table]} if "table_type" in row and table in types else {})
            for table, text in texts.items()
        ]

    def _plan(self, skeleton: str, *, is_several: bool) -> tuple[LeafQuery, ...]:
        """Return the leaves of a skeleton; none if the text is not understood, or is an ordinary query."""
        key = (skeleton, is_several)
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._planned(skeleton, is_several=is_several)
        return self._plans[key]

    def _planned(self, skeleton: str, *, is_several: bool) -> tuple[LeafQuery, ...]:
        try:
            if not is_several and query_shape(skeleton):
                return ()
        except UnsupportedQuery:
            pass
        try:
            return leaf_queries(skeleton, self._columns_of)
        except UnsupportedQuery:
            return ()

    def _columns_of(self, table: str) -> frozenset[str] | None:
        size = self.size_of(known_table(table, self.tables))
        size = size or self.size_of(known_table(without_type(table)[0], self.tables))
        return size.columns if size else None

    def _shares(self, row: dict[str, Any], leaves: dict[str, LeafQuery]) -> dict[str, dict[str, int]]:
        rows = self._rows(row, leaves)
        scanned = [rows[table] * leaf.scans for table, leaf in leaves.items()]
        filtered = [rows[table] * leaf.filtered_scans for table, leaf in leaves.items()]
        passed_whole = [all_ - some for all_, some in zip(scanned, filtered, strict=True)]
        weights = filtered if any(filtered) else scanned
        known_rows = row["rows_scanned"] or 0
        whole = _within(passed_whole, known_rows)
        others = _parts(known_rows - sum(whole), weights)
        shares = {
            "rows_scanned": [a + b for a, b in zip(whole, others, strict=True)],
            "entries_scanned_in_filter": _parts(row["entries_scanned_in_filter"] or 0, weights),
            "entries_scanned_post_filter": _parts(row["entries_scanned_post_filter"] or 0, scanned),
            **{name: _parts(row[name], scanned) for name in _BY_SEGMENTS if row.get(name) is not None},
        }
        return {
            table: {name: values[position] for name, values in shares.items() if name in row}
            for position, table in enumerate(leaves)
        }

    def _rows(self, row: dict[str, Any], tables: Iterable[str]) -> dict[str, int]:
        """Return the rows of the tables; unknown tables share the rest of the line's total."""
        sizes = {table: self.size_of(table) for table in tables}
        rows = {table: size.rows for table, size in sizes.items() if size}
        unknown = [table for table, size in sizes.items() if not size]
        left_over = max((row.get("rows_total") or 0) - sum(rows.values()), 0)
        return {**rows, **{table: max(left_over // len(unknown), 1) for table in unknown}}


def _leaf_text(leaf: LeafQuery, literals: Sequence[Sequence[Literal]]) -> str:
    return query_text(leaf.skeleton, [literals[slot] for slot in leaf.slots])


def leaves_by_table(batch: pa.RecordBatch) -> dict[str, int]:
    """Return how many records of a batch are a table's share of another, by table."""
    tables = batch.filter(pc.fill_null(pc.equal(batch.column("line_format"), LEAF), False)).column("table")
    return {item["values"]: item["counts"] for item in pc.value_counts(tables).to_pylist()}


def _logged_name(table: str, named: Sequence[str]) -> str | None:
    """Return the line's name for a table of the text; either may name the database, and the other not.

    The text may name a half of a table, whose type the line's name has lost.
    """
    found = known_table(table, named)
    if found not in named:
        found = known_table(without_type(table)[0], named)
    return found if found in named else None


def _parts(total: int, weights: Sequence[int]) -> list[int]:
    """Return ``total`` in whole parts in proportion to ``weights``, equal if all weights are 0."""
    weights = weights if any(weights) else [1] * len(weights)
    whole, given, parts, reached = sum(weights), 0, [], 0
    for weight in weights:
        reached += weight
        parts.append(total * reached // whole - given)
        given += parts[-1]
    return parts


def _within(wanted: Sequence[int], total: int) -> list[int]:
    """Return ``wanted``, reduced in proportion if it exceeds ``total``."""
    return list(wanted) if sum(wanted) <= total else _parts(total, wanted)
