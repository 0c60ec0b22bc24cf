"""Judge a change by its replay: faults that take it back, and what each index really saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from starskip.advisor.deployment.replay import Measured
from starskip.advisor.deployment.statements import Statement
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.verification.compare_answers import answers_differ
from starskip.errors import printable
from starskip.number_text import count, percent

LEAST_MS = 10.0
"""A shape counts as slower only by more than this: less is the noise of a server."""
LEAST_ENTRIES_RATIO = 0.001
"""A shape counts as scanning more only by more than this share of all entries."""
_WAYS = ("after", "before")
_SHOWN = 120


class FaultKind(Enum):
    """Kinds of faults."""

    WRONG_ANSWER = "wrong answer"
    NOT_WHOLE = "answer not whole"
    MORE_ENTRIES = "scans more"
    SLOWER = "slower"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one shape, after the change."""

    kind: FaultKind
    shape: str
    detail: str

    def __str__(self) -> str:
        """Return the fault in a line, without literals."""
        return f"{self.kind.value}: {self.detail}: {printable(self.shape, _SHOWN)}"


@dataclass(frozen=True, slots=True)
class Saving:
    """Measured saving of an index or of all: a share of all entries, and milliseconds a query.

    ``before_ms``: what a mean query took before.
    """

    ratio: float
    ms: float
    before_ms: float = 0.0


def faults_of(
    statements: Sequence[Statement],
    before: Sequence[Measured],
    after: Sequence[Measured],
    max_regression_ratio: float,
) -> list[Fault]:
    """Return the faults, at most one a kind and shape.

    Statements whose answers were not whole before are not judged, and answers are not compared where the
    table has got other rows meanwhile.
    """
    known = [
        (statement, was.grown_to(now.documents), now)
        for statement, was, now in zip(statements, before, after, strict=True)
        if not was.flaw
    ]
    changed = {
        statement.sql
        for statement, was, now in zip(statements, before, after, strict=True)
        if was.documents != now.documents
    }
    found: dict[tuple[FaultKind, str], Fault] = {}
    for statement, was, now in known:
        if now.flaw:
            fault = Fault(FaultKind.NOT_WHOLE, statement.text, printable(now.flaw, _SHOWN))
        elif statement.sql not in changed and (differing := _difference(statement, was, now)):
            fault = Fault(FaultKind.WRONG_ANSWER, statement.text, differing)
        else:
            continue
        found.setdefault((fault.kind, statement.shape_id), fault)
    total = sum(each.queries * was.entries for each, was, _ in known)
    by_shape: dict[str, list[tuple[Statement, Measured, Measured]]] = {}
    for each in known:
        if not each[2].flaw:
            by_shape.setdefault(each[0].shape_id, []).append(each)
    for shape_id, of_shape in by_shape.items():
        for fault in _regressions(of_shape, total, max_regression_ratio):
            found.setdefault((fault.kind, shape_id), fault)
    return list(found.values())


def _regressions(
    of_shape: Sequence[tuple[Statement, Measured, Measured]], total: float, most: float
) -> list[Fault]:
    statement = of_shape[0][0]
    queries = max(sum(each.queries for each, _, _ in of_shape), 1e-9)
    was_entries = sum(each.queries * was.entries for each, was, _ in of_shape)
    now_entries = sum(each.queries * now.entries for each, _, now in of_shape)
    was_ms = sum(each.queries * was.best_ms for each, was, _ in of_shape) / queries
    now_ms = sum(each.queries * now.best_ms for each, _, now in of_shape) / queries
    found = []
    least = max(most * was_entries, LEAST_ENTRIES_RATIO * total)
    if now_entries - was_entries > least and not statement.stops_early:
        words = f"{count(was_entries / queries)} entries a query before, {count(now_entries / queries)} after"
        found.append(Fault(FaultKind.MORE_ENTRIES, statement.text, words))
    if now_ms - was_ms > most * was_ms + LEAST_MS:
        words = f"{was_ms:,.0f} ms a query before, {now_ms:,.0f} ms after"
        found.append(Fault(FaultKind.SLOWER, statement.text, words))
    return found


def _difference(statement: Statement, was: Measured, now: Measured) -> str:
    """Return how the answers differ, empty if they do not or cannot be compared."""
    if was.rows is None or now.rows is None:
        return ""
    # Of rows beyond a limit, which come is the server's choice.
    if statement.limit is not None and min(len(was.rows), len(now.rows)) >= statement.limit:
        return ""
    return answers_differ(_table(statement, now), _table(statement, was), _keys(statement), {}, _WAYS)


def _keys(statement: Statement) -> list[int]:
    """Return the positions of the keys among the columns that are compared."""
    return [key - sum(left < key for left in statement.approximate) for key in statement.keys]


def _table(statement: Statement, measured: Measured) -> pa.Table:
    rows = measured.rows or ()
    # SELECT * has more columns than items.
    width = len(rows[0]) if rows else 0
    columns = {}
    for position in range(width):
        if position not in statement.approximate:
            columns[f"{position + 1}"] = _array([row[position] for row in rows])
    return pa.table(columns)


def _array(values: Sequence[Any]) -> pa.Array[Any]:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        # Numbers of several kinds, or infinities as texts.
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def saving(
    statements: Sequence[Statement],
    before: Sequence[Measured],
    after: Sequence[Measured],
    shares: Sequence[float] | None = None,
    *,
    totals: Sequence[Measured] | None = None,
) -> Saving:
    """Return the saving, of each statement its part in ``shares``, as a share of ``totals`` or ``before``."""
    entries = total = ms = before_ms = queries = 0.0
    parts = shares or [1.0] * len(statements)
    for statement, was, now, part, whole in zip(
        statements, before, after, parts, totals or before, strict=True
    ):
        if was.flaw or now.flaw or whole.flaw:
            continue
        queries += statement.queries
        total += statement.queries * whole.grown_to(now.documents).entries
        entries += part * statement.queries * (was.grown_to(now.documents).entries - now.entries)
        ms += part * statement.queries * (was.best_ms - now.best_ms)
        before_ms += statement.queries * was.best_ms
    if not queries:
        return Saving(0.0, 0.0)
    return Saving(entries / total if total else 0.0, ms / queries, before_ms / queries)


def savings_by_index(
    statements: Sequence[Statement],
    indexes: Sequence[AdvisedIndex],
    before: Sequence[Measured],
    after: Sequence[Measured],
    hidden: Mapping[str, Sequence[Measured]],
) -> dict[str, tuple[Saving, str]]:
    """Return by index its measured saving, and how it was measured.

    ``hidden``: by index, the replay that does without it. An index that cannot be hidden has the saving of
    the shapes that it serves; indexes that serve the same shape share it as they were predicted to save.
    """
    weights = {each.name: max(each.saving_ratio or 0.0, _LEAST_WEIGHT) for each in indexes}
    found = {}
    for index in indexes:
        if index.name in hidden:
            measured = saving(statements, hidden[index.name], after, totals=before)
            found[index.name] = (measured, "measured with it and without it in turn")
            continue
        shares = [
            weights[index.name] / sum(weights.get(name, 0.0) for name in each.served_by)
            if index.name in each.served_by
            else 0.0
            for each in statements
        ]
        shapes = {each.shape_id for each in statements if index.name in each.served_by}
        how = (
            "by the shape that it serves"
            if len(shapes) == 1
            else f"by the {len(shapes)} shapes that it serves"
        )
        if any(0 < share < 1 for share in shares):
            how += ", shared with other indexes as predicted"
        measured = saving(statements, before, after, shares)
        found[index.name] = (measured, how if shapes else "no replayed query uses it")
    return found


_LEAST_WEIGHT = 1e-6
"""Weight of an index without a predicted saving."""


def saving_words(predicted: float | None, measured: Saving) -> str:
    """Return both savings as people read them."""
    told = f"saves {percent(measured.ratio)} of all entries"
    return told if predicted is None else f"{told}, {percent(predicted)} predicted"
