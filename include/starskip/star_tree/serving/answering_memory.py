"""What the answers of one opened table share: parsed queries, and a database with its dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from starskip.star_tree.locked_database import LockedDatabase, locked_database
from starskip.star_tree.scalar_expressions import ScalarExpressions

_PARSED_QUERIES = 512

Parsed = TypeVar("Parsed")


class AnsweringMemory(Generic[Parsed]):
    """Safe for threads; the database is opened when it is first asked for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parsed: OrderedDict[tuple[str, str], Parsed] = OrderedDict()
        self._database: LockedDatabase | None = None
        self._expressions: ScalarExpressions | None = None

    @property
    def database(self) -> LockedDatabase:
        """The database that computes expressions."""
        with self._lock:
            if self._database is None:
                self._database = locked_database()
            return self._database

    @property
    def expressions(self) -> ScalarExpressions:
        """The expressions over dictionaries of dimensions."""
        database = self.database
        with self._lock:
            if self._expressions is None:
                self._expressions = ScalarExpressions(database)
            return self._expressions

    def parsed(self, sql: str, dialect: str, parse: Callable[[str, str], Parsed]) -> Parsed:
        """Return what ``parse`` made of the text, of the newest texts without parsing again."""
        key = sql, dialect
        with self._lock:
            found = self._parsed.get(key)
            if found is not None:
                self._parsed.move_to_end(key)
                return found
        made = parse(sql, dialect)
        with self._lock:
            self._parsed[key] = made
            if len(self._parsed) > _PARSED_QUERIES:
                self._parsed.popitem(last=False)
        return made
