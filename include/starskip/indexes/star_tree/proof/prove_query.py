"""Answer one query from a star-tree and by a scan, and compare the answers and their cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from starskip.errors import StarskipError, TransientError, UnsupportedQuery
from starskip.indexes.star_tree.proof.comparable_query import (
    ComparableQuery,
    bound_columns,
    comparable_query,
    percentile_bounds_query,
)
from starskip.indexes.star_tree.serving.answer_sql import Answer
from starskip.indexes.star_tree.serving.finished_answer import ERROR_BOUND
from starskip.verification.compare_answers import ApproximateColumn, Bounds, answers_differ, rows_by_key
from starskip.verification.verdict import Verdict

Ask = Callable[[str], Answer]
"""Answers SQL of Pinot's dialect from a tree where one fits."""
Scan = Callable[[str], tuple[pa.Table, int]]
"""Answers SQL of Pinot's dialect exactly, from the rows alone, and counts the rows that it reads."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict, why in a clause where it needs one, and the cost of both ways, None without one.

    ``tree`` is the position of the tree that answered. The tree's time is that of its second answer, when
    what it needs is in memory, as in a process that serves queries.
    """

    verdict: Verdict
    detail: str = ""
    tree: int | None = None
    answer_rows: int | None = None
    tree_rows_read: int | None = None
    scan_rows_read: int | None = None
    tree_ms: float | None = None
    scan_ms: float | None = None


def prove_query(sql: str, ask: Ask, scan: Scan, clock: Callable[[], float]) -> Proof:
    """Return the outcome of answering ``sql`` both ways; ``clock`` returns seconds.

    Both ways leave out ORDER BY and LIMIT, under which ties may fall out either way. Errors of ours are a
    verdict, but for those that may have passed by the next try.
    """
    try:
        return _proof(sql, ask, scan, clock)
    except TransientError:
        raise
    except UnsupportedQuery as error:
        # Its words may hold literals of the query, or values of the table.
        return Proof(Verdict.FAILED, f"one way cannot answer it: {error.reason.replace('_', ' ')}")
    except StarskipError as error:
        return Proof(Verdict.FAILED, str(error))


def _proof(sql: str, ask: Ask, scan: Scan, clock: Callable[[], float]) -> Proof:
    query = comparable_query(sql)
    first = ask(query.sql)
    if not first.star_tree:
        return Proof(Verdict.NOT_ANSWERED, first.reason or "")
    asked_at = clock()
    answer = ask(query.sql)
    answered_at = clock()
    table, rows_read = scan(query.sql)
    scanned_at = clock()
    detail = query.unbounded or answers_differ(
        answer.table, table, query.keys, _approximate_columns(query, answer, table, scan)
    )
    agreed = Verdict.WITHIN_BOUND if answer.approximations else Verdict.EQUAL
    disagreed = Verdict.NOT_COMPARABLE if query.unbounded else Verdict.DIFFERENT
    return Proof(
        disagreed if detail else agreed,
        detail or "; ".join(dict.fromkeys(each.bound for each in answer.approximations)),
        answer.tree,
        answer.table.num_rows,
        answer.documents_read,
        rows_read,
        1000 * (answered_at - asked_at),
        1000 * (scanned_at - answered_at),
    )


def _approximate_columns(
    query: ComparableQuery, answer: Answer, scanned: pa.Table, scan: Scan
) -> dict[int, ApproximateColumn]:
    positions = [i for i, field in enumerate(answer.table.schema) if ERROR_BOUND in (field.metadata or {})]
    found = {}
    for position, stated in zip(positions, answer.approximations, strict=True):
        if query.approximate[position].percentile is None:
            bounds, wide = (_count_bounds(query, position, scanned, times * stated.ratio) for times in (1, 2))
        else:
            bounds, wide = (_rank_bounds(query, position, scan, times * stated.ratio) for times in (1, 2))
        found[position] = ApproximateColumn(bounds, wide, stated.confidence)
    return found


def _count_bounds(query: ComparableQuery, position: int, scanned: pa.Table, ratio: float) -> Bounds:
    """Return the bounds of a distinct count, whose exact value the scan has counted."""
    rows = rows_by_key(scanned, query.keys) or {}
    # An estimate is rounded to a whole number.
    return {
        key: (row[position] * (1 - ratio) - 0.5, row[position] * (1 + ratio) + 0.5)
        for key, row in rows.items()
    }


def _rank_bounds(query: ComparableQuery, position: int, scan: Scan, ratio: float) -> Bounds:
    table, _ = scan(percentile_bounds_query(query, position, ratio))
    rows = rows_by_key(table, range(len(query.keys))) or {}
    found = {}
    for key, row in rows.items():
        least, greatest = bound_columns(row[len(query.keys)], len(query.keys))
        found[key] = (row[least], row[greatest])
    return found
