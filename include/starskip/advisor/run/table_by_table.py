"""Work on all tables at once, and on one table at a time if that fails: then only that table fails.

A table that failed keeps the advice of its last night: its part of the stage's artefact says why, the stages
behind leave it out, and the gate names it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from starskip.errors import DamagedFile, StarskipError, StorageError, TransientError, first_line, printable
from starskip.sql.masking import mask_literals
from starskip.storage.manifest import Part

FAILED = "failed_because"
"""Property of a part: why the stage failed on its table."""

_ENGINES = ("pyspark", "py4j")
OUR_FAULT = "a fault of Starskip"
"""Beginning of the reason where the fault is ours; where it happened follows."""
_STACK = "Traceback (most recent call last):"

Result = TypeVar("Result")


@dataclass(slots=True)
class TableResults(Generic[Result]):
    """Results of the work: one for all tables, or one for each table; ``failures``: table to reason."""

    results: list[Result] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def left_of(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Return the ``tables`` that have not failed."""
        return tuple(table for table in tables if table not in self.failures)


def table_by_table(tables: Sequence[str], work: Callable[[Sequence[str]], Result]) -> TableResults[Result]:
    """Return the result of ``work`` on all ``tables``; if that fails, its result on each table alone.

    ``work`` may therefore run more than once. Raises an error that concerns more than a table (a store, an
    engine, an error that a retry may mend), and the first failure if no table is left.
    """
    try:
        return TableResults([work(tables)])
    except Exception as error:
        if len(tables) < 2 or not is_of_one_table(error):
            raise
    found: TableResults[Result] = TableResults()
    for table in tables:
        try:
            found.results.append(work([table]))
        except Exception as error:
            if not is_of_one_table(error) or len(found.failures) == len(tables) - 1:
                raise
            found.failures[table] = failure_words(error)
    return found


def is_of_one_table(error: Exception) -> bool:
    """Return whether an error may be one table's, and not a store's, an engine's or a passing one."""
    if isinstance(error, DamagedFile):
        # Each data file is of one table; if the store lost those of all, each of them fails.
        return True
    if isinstance(error, TransientError | StorageError | OSError):
        return False
    is_of_engine = type(error).__module__.partition(".")[0] in _ENGINES
    return not is_of_engine or _STACK in str(error)


def is_ours(error: Exception) -> bool:
    """Return whether an error is Starskip's own and a retry will not mend it."""
    return isinstance(error, StarskipError) and not isinstance(error, TransientError)


def failure_words(error: Exception) -> str:
    """Return in one line why a table failed: our own words, or the kind of a fault and where it happened."""
    if isinstance(error, StarskipError):
        return str(error)
    if _STACK in str(error):
        # Spark reports a fault on an executor with the whole stack of its Python.
        behind = str(error).partition(_STACK)[2].splitlines()
        words = next((line for line in behind if line and not line[0].isspace()), type(error).__name__)
        return printable(f"{OUR_FAULT}: {mask_literals(words)}", 300)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "starskip" in each.filename]
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    words = mask_literals(first_line(error))
    return printable(f"{OUR_FAULT}: {type(error).__name__}{place}: {words}", 300)


def failed_parts(failures: Mapping[str, str]) -> dict[str, Part]:
    """Return the parts that report the failures to the stages behind, the gate and the report pages."""
    return {table: Part((), {FAILED: reason}) for table, reason in failures.items()}


def failure_warnings(stage: str, failures: Mapping[str, str]) -> list[str]:
    """Return a warning for each table that failed."""
    return [
        printable(f"table {table} is left out, its last advice stands: {stage} failed: {reason}")
        for table, reason in sorted(failures.items())
    ]
