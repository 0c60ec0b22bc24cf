"""The tables and columns that are known, and what the names in a log's queries mean among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.logs.record_columns import TABLE_SEPARATOR
from starskip.pinot.target_version import release_number
from starskip.sql.resolved_skeleton import QueryNames
from starskip.sql.spelled_names import Spelling, meant_table
from starskip.tables.table_overview import TableOverview

_SINCE_1_1 = frozenset(("1.4.0", "1.5.0", "2026-05", "1.6.0"))
"""Lines of brokers that do not apply aliases to the WHERE, whatever version the advice is for."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Columns by table, as the table spells them; ``aliases_in_where``: as in QueryNames."""

    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    aliases_in_where: bool = True

    def of(self, table: str, line_format: str | None = None) -> QueryNames:
        """Return the names that queries of ``table``, logged in this format, are resolved with."""
        columns = self.columns.get(table)
        spelling = None if columns is None else Spelling(columns)
        in_where = self.aliases_in_where and line_format not in _SINCE_1_1
        return QueryNames(without_type(table)[0], spelling, in_where)


NO_NAMES = KnownNames()


def known_names(overviews: Mapping[str, TableOverview], pinot_version: str) -> KnownNames:
    """Return the names in ``overviews``; queries are those of ``pinot_version``."""
    columns = {table: frozenset(overview.columns) for table, overview in overviews.items()}
    # AliasApplier leaves the WHERE alone since 1.1.
    return KnownNames(columns, release_number(pinot_version) < (1, 1))


def known_table(name: str, tables: Collection[str]) -> str:
    """Return the table that a name in a log or a command means; the name itself if it means none.

    In any case, with or without its database: ``default.orders`` and ``SALES.Orders`` are ``orders`` where no
    table ``sales.orders`` is known, and ``orders`` is the one table ``sales.orders``.
    """
    found = meant_table(name, tables)
    if found is None and "." not in name:
        behind = [table for table in tables if table.lower().rpartition(".")[2] == name.lower()]
        found = behind[0] if len(behind) == 1 else None
    return name if found is None else found


def with_known_tables(batch: pa.RecordBatch, tables: Collection[str]) -> pa.RecordBatch:
    """Return query records whose tables are spelled as ``tables`` are."""
    position = batch.schema.get_field_index("table")
    names = batch.column(position).dictionary_encode()
    known = [
        TABLE_SEPARATOR.join(known_table(name, tables) for name in names_of.split(TABLE_SEPARATOR))
        for names_of in names.dictionary.to_pylist()
    ]
    if known == names.dictionary.to_pylist():
        return batch
    spelled = pa.DictionaryArray.from_arrays(names.indices, pa.array(known, pa.string()))
    return batch.set_column(position, batch.schema.field(position), spelled.cast(pa.string()))
