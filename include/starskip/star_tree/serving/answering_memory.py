"""Caches that the answers of one opened table share: parsed queries, masks, a database for expressions."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from starskip.sql.sandboxed_duckdb import SandboxedDuckDB, locked_database
from starskip.star_tree.newest_values import NewestValues
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.serving.star_tree import ScanRequest

_PARSED_QUERIES = 512
_REQUESTED_BYTES = 64 << 20

Parsed = TypeVar("Parsed")


class AnsweringMemory(Generic[Parsed]):
    """Safe for threads; the database is opened when it is first asked for.

    ``requests``: the ScanRequest of a query, by its text and dialect, up to a number of bytes of masks.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.requests: NewestValues[tuple[str, str], ScanRequest] = NewestValues(_REQUESTED_BYTES)
        self._parsed: NewestValues[tuple[str, str], Parsed] = NewestValues(_PARSED_QUERIES)
        self._database: SandboxedDuckDB | None = None
        self._expressions: ScalarExpressions | None = None

    @property
    def database(self) -> SandboxedDuckDB:
        """Return the database that computes expressions."""
        with self._lock:
            if self._database is None:
                self._database = locked_database()
            return self._database

    @property
    def expressions(self) -> ScalarExpressions:
        """Return the expressions over dictionaries of dimensions."""
        database = self.database
        with self._lock:
            if self._expressions is None:
                self._expressions = ScalarExpressions(database)
            return self._expressions

    def parsed(self, sql: str, dialect: str, parse: Callable[[str, str], Parsed]) -> Parsed:
        """Return the result of ``parse``; recent texts are not parsed again."""
        found = self._parsed.get((sql, dialect))
        if found is None:
            found = parse(sql, dialect)
            self._parsed.keep((sql, dialect), found)
        return found
