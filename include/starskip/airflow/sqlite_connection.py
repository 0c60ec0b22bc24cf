"""Let the processes of Airflow wait for each other at its SQLite file, where they fail by default.

Airflow's settings name ``CONNECT_ARGS`` (``airflow_environment``). SQLite waits for another writer, except
when a transaction that has read wants to write after another one has: it fails at once, however long it may
wait. Python begins no transaction before a SAVEPOINT, which then begins one that reads first: so it is for
the days of a backfill, and for the scheduler.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

_WAIT_SECONDS = 60.0


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, *values: Any) -> Any:
        """Execute ``sql``; before a savepoint begin a transaction that may write, if there is none."""
        if sql.startswith("SAVEPOINT") and not self.connection.in_transaction:
            super().execute("BEGIN IMMEDIATE")
        return super().execute(sql, *values)


class _Connection(sqlite3.Connection):
    def cursor(self, factory: Any = _Cursor) -> Any:
        """Return a cursor that begins transactions before savepoints."""
        return super().cursor(factory)


CONNECT_ARGS: Final[dict[str, Any]] = {"timeout": _WAIT_SECONDS, "factory": _Connection}
"""Arguments of sqlite3.connect; Airflow writes into the dict."""
