"""An in-memory DuckDB that computes expressions and reaches no file; the only import of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

from starskip.errors import UnsupportedQuery, first_line
from starskip.extras import needing_extra

if TYPE_CHECKING:
    import duckdb

MEMORY_BYTES = 2 << 30


class SandboxedDuckDB:
    """Expressions over Arrow tables; safe for several threads, each call has a connection of its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take a connection that ``locked_database`` opened."""
        self._connection = connection
        self._numbers = count()

    def keep(self, table: pa.Table | pa.RecordBatchReader, name: str | None = None) -> str:
        """Copy ``table`` into the database and return its name, a new one if none is given.

        Raises UnsupportedQuery as in ``rows``.
        """
        from duckdb import Error  # noqa: PLC0415 - an extra

        name = f"kept{next(self._numbers)}" if name is None else name
        cursor = self._connection.cursor()
        try:
            cursor.register("arriving", table)
            cursor.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arriving')  # noqa: S608 - names are ours
        except Error as error:
            raise _not_computed(error) from error
        finally:
            cursor.close()
        return name

    def rows(self, select: str, **tables: pa.Table | pa.RecordBatchReader) -> pa.Table:
        """Return the rows of ``select``, over the kept tables and ``tables``.

        ``select`` is generated from a checked syntax tree, never a text from outside. Raises UnsupportedQuery
        with the reason "not_computed" and the database's own first line.
        """
        from duckdb import Error  # noqa: PLC0415 - an extra

        cursor = self._connection.cursor()
        try:
            for name, table in tables.items():
                cursor.register(name, table)
            found = cursor.sql(select)
            wide = [position for position, type_ in enumerate(found.types) if type_ == "HUGEINT"]
            return _narrowed(found.to_arrow_table(), wide)
        except Error as error:
            raise _not_computed(error) from error
        finally:
            cursor.close()


def locked_database(threads: int | None = 1) -> SandboxedDuckDB:
    """Open an empty database without access to files, network, extensions or its own settings; time is UTC.

    ``threads``: None for as many as there are cores. Raises MissingExtra where DuckDB is not installed.
    """
    with needing_extra("star-trees"):
        import duckdb  # noqa: PLC0415

    connection = duckdb.connect(
        ":memory:",
        config={
            **({} if threads is None else {"threads": threads}),
            "memory_limit": f"{MEMORY_BYTES}B",
            "enable_external_access": False,
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,
        },
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET GLOBAL lock_configuration = true")
    return SandboxedDuckDB(connection)


def _narrowed(table: pa.Table, positions: Sequence[int]) -> pa.Table:
    """Return whole numbers of 128 bits, which Arrow has as decimals, as int64 where all of a column fit."""
    for position in positions:
        with suppress(pa.ArrowInvalid):
            narrow = table.column(position).cast(pa.int64())
            table = table.set_column(position, table.column_names[position], narrow)
    return table


def _not_computed(error: duckdb.Error) -> UnsupportedQuery:
    return UnsupportedQuery(f"the query cannot be computed: {first_line(error, 300)}", reason="not_computed")
