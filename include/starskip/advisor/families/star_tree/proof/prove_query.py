"""Answer one query from a star-tree and by a scan, and compare the answers and their cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from starskip.advisor.verification.agreement import Agreement
from starskip.advisor.verification.compare_answers import (
    ApproximateColumn,
    Bounds,
    answers_differ,
    rows_by_key,
)
from starskip.errors import StarskipError, TransientError, UnsupportedQuery
from starskip.sql.pinot_dialect import PinotDialect
from starskip.star_tree.query.aggregate_call import AggregateCall, aggregate_call, is_aggregate
from starskip.star_tree.query.sql_select import sql_select
from starskip.star_tree.serving.answer_sql import Answer
from starskip.star_tree.serving.finished_answer import ERROR_BOUND

Ask = Callable[[str], Answer]
"""Answers SQL of Pinot's dialect from a tree that fits, if any."""
Scan = Callable[[str], tuple[pa.Table, int]]
"""Answers SQL of Pinot's dialect exactly, from the rows alone, and counts the rows that it reads."""
# By number of values in a group, how far a percentile's rank may be off beside the sketch's bound: a sketch
# interpolates between two values, so by one value of the group.
_ONE_VALUE = ((1_000, 0.001), (100, 0.01), (10, 0.1), (0, 1.0))


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict, its reason, if any, and the costs of both ways; None where not measured.

    ``tree``: the position of the tree that answered. ``tree_ms``: the time of the tree's second answer, when
    its files are in memory, as in a process that serves queries.
    """

    verdict: Agreement
    detail: str = ""
    tree: int | None = None
    answer_rows: int | None = None
    tree_rows_read: int | None = None
    scan_rows_read: int | None = None
    tree_ms: float | None = None
    scan_ms: float | None = None


def prove_query(sql: str, ask: Ask, scan: Scan, clock: Callable[[], float]) -> Proof:
    """Return the outcome of answering ``sql`` both ways; ``clock`` returns seconds.

    Both ways leave out ORDER BY and LIMIT, since ties may be ordered either way. An error of Starskip becomes
    a verdict, unless a retry may pass.
    """
    try:
        return _proof(sql, ask, scan, clock)
    except TransientError:
        raise
    except UnsupportedQuery as error:
        # The error's words may hold literals of the query, or values of the table.
        return Proof(Agreement.FAILED, f"one way cannot answer it: {error.reason.replace('_', ' ')}")
    except StarskipError as error:
        return Proof(Agreement.FAILED, str(error))


def scans_of_proof(sql: str) -> int:
    """Return how often ``prove_query`` scans the table at most: twice more for the bounds of a percentile."""
    query = comparable_query(sql)
    return 1 + 2 * sum(call.percentile is not None for call in query.approximate.values())


def _proof(sql: str, ask: Ask, scan: Scan, clock: Callable[[], float]) -> Proof:
    query = comparable_query(sql)
    first = ask(query.sql)
    if not first.star_tree:
        return Proof(Agreement.NOT_ANSWERED, first.reason or "")
    asked_at = clock()
    answer = ask(query.sql)
    answered_at = clock()
    table, rows_read = scan(query.sql)
    scanned_at = clock()
    detail = query.unbounded or answers_differ(
        answer.table, table, query.keys, _approximate_columns(query, answer, table, scan)
    )
    agreed = Agreement.WITHIN_BOUND if answer.approximations else Agreement.EQUAL
    disagreed = Agreement.NOT_COMPARABLE if query.unbounded else Agreement.DIFFERENT
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
        least, greatest = bound_positions(row[len(query.keys)], len(query.keys))
        found[key] = (row[least], row[greatest])
    return found


@dataclass(frozen=True, slots=True)
class ComparableQuery:
    """``sql``: the query without ORDER BY and LIMIT, since ties may be ordered either way.

    ``keys``: the positions of items that aggregate nothing. ``approximate``: the positions of items that are
    approximate, with their aggregation. ``unbounded``: why the answer cannot be compared, empty if it can.
    """

    sql: str
    keys: tuple[int, ...]
    approximate: Mapping[int, AggregateCall]
    unbounded: str


def comparable_query(sql: str) -> ComparableQuery:
    """Return ``sql``, one SELECT in Pinot's dialect, made comparable; raises UnsupportedQuery."""
    select = sql_select(sql, "pinot")
    for clause in ("order", "limit", "offset", "fetch"):
        select.set(clause, None)
    approximate: dict[int, AggregateCall] = {}
    keys = []
    unbounded = ""
    for position, item in enumerate(select.expressions):
        bare = item.unalias()
        calls = [
            aggregate_call(node) for node in item.walk() if isinstance(node, exp.Expr) and is_aggregate(node)
        ]
        if not calls:
            keys.append(position)
        elif any(map(_is_approximate, calls)):
            if is_aggregate(bare):
                approximate[position] = calls[0]
            else:
                unbounded = "arithmetic with an approximate value has no stated bound"
    having = select.args.get("having")
    if having and any(_is_approximate(aggregate_call(node)) for node in having.walk() if is_aggregate(node)):
        unbounded = "HAVING on an approximate value has no stated bound"
    return ComparableQuery(select.sql(dialect=PinotDialect), tuple(keys), approximate, unbounded)


def percentile_bounds_query(query: ComparableQuery, position: int, ratio: float) -> str:
    """Return a query for the keys of ``query`` and exact bounds of its percentile at ``position``.

    Bounds are the number of values, the least and the greatest, and pairs of percentiles: one pair for each
    entry of ``_ONE_VALUE`` except the last. ``ratio``: the share of all ranks that the sketch may be off.
    """
    select = sql_select(query.sql, "pinot")
    call = query.approximate[position]
    if call.percentile is None:
        raise UnsupportedQuery("the percentile is not given", reason="placeholder")
    column = next(iter(select.expressions[position].find_all(exp.Column)))
    bounds: list[exp.Expr] = [kind(this=column.copy()) for kind in (exp.Count, exp.Min, exp.Max)]
    for _, one_value in _ONE_VALUE[:-1]:
        for side in (-1, 1):
            rank = min(max(call.percentile + side * 100 * (ratio + one_value), 0.0), 100.0)
            bounds.append(_percentile(column.copy(), rank))
    # GROUP BY may name a key by its alias.
    keys = [select.expressions[key] for key in query.keys]
    select.set("expressions", [*keys, *(exp.alias_(item, f"bound_{i}") for i, item in enumerate(bounds))])
    select.set("having", None)
    return select.sql(dialect=PinotDialect)


def bound_positions(count: int, keys: int) -> tuple[int, int]:
    """Return the positions of a group's bounds in an answer of ``percentile_bounds_query``.

    ``count``: the values in the group; ``keys``: how many keys the query has.
    """
    tier = next(i for i, (least, _) in enumerate(_ONE_VALUE) if count >= least)
    if tier == len(_ONE_VALUE) - 1:
        return keys + 1, keys + 2
    return keys + 3 + 2 * tier, keys + 4 + 2 * tier


def _is_approximate(call: AggregateCall) -> bool:
    return any(measure.kind.is_sketch for measure in call.measures)


def _percentile(column: exp.Expr, rank: float) -> exp.Expr:
    return exp.Anonymous(this="PERCENTILEEST", expressions=[column, exp.Literal.number(repr(rank))])
