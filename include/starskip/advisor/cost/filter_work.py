"""L of a filter: the entries that evaluating it reads, a row of the table.

Automated Inverted Index Recommendation, II.3 A:
``L(p1 OR … OR pn) = sum L(pi)``; ``L(p1 AND … AND pn) = L(p1) + s1 L(p2) + s1 s2 L(p3) …``,
where predicates that an index answers come first and read nothing. Scans are taken in the order that reads
least, by L / (1 - s): Pinot's scans leap to one another's matches, so that the most selective scan leads
wherever it stands in the text. (The living recommender keeps the text's order, and gives ``a AND b`` another
cost than ``b AND a``.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from starskip.advisor.cost.filter_cost import Answers
from starskip.advisor.cost.leaf_estimates import LeafEstimate
from starskip.sql.predicate import And, Constant, Filtered, Leaf, Not, Or, Predicate

Ratios = npt.NDArray[np.float64]
_ALMOST_ALL = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class Work:
    """Work of a predicate, over instances: ``entries`` read a row, ``surviving`` share of rows.

    ``is_answered``: no part of the predicate is scanned.
    """

    entries: Ratios
    surviving: Ratios
    is_answered: bool


def filter_work(
    predicate: Predicate,
    estimates: Mapping[Leaf, LeafEstimate],
    answers: Answers,
    *,
    is_reordered: bool = False,
) -> Work:
    """Return the work of ``predicate``, if indexes answer the leaves as ``answers`` says.

    ``is_reordered``: the table is no longer in its present sort order.
    """
    match predicate:
        case Leaf():
            return _leaf_work(predicate, estimates[predicate], answers, is_reordered=is_reordered)
        case Not(child):
            work = filter_work(child, estimates, answers, is_reordered=is_reordered)
            return Work(work.entries, 1.0 - work.surviving, work.is_answered)
        case Constant(value):
            return Work(np.zeros(()), np.array(float(value)), is_answered=True)
        case Filtered(rows, child):
            kept = filter_work(rows, estimates, answers, is_reordered=is_reordered).surviving
            work = filter_work(child, estimates, answers, is_reordered=is_reordered)
            return Work(work.entries * kept, work.surviving * kept, work.is_answered)
    children = [
        filter_work(child, estimates, answers, is_reordered=is_reordered) for child in predicate.children
    ]
    is_answered = all(child.is_answered for child in children)
    if isinstance(predicate, Or):
        missed = prod((1.0 - child.surviving for child in children), start=np.ones(()))
        return Work(sum((c.entries for c in children), start=np.zeros(())), 1.0 - missed, is_answered)
    read = (c.entries * reached for c, reached in zip(children, _reached(children), strict=True))
    surviving = prod((child.surviving for child in children), start=np.ones(()))
    return Work(sum(read, start=np.zeros(())), surviving, is_answered)


def entries_by_column(
    predicate: Predicate, estimates: Mapping[Leaf, LeafEstimate], answers: Answers
) -> dict[str, Ratios]:
    """Return the entries of filter_work by the column that is read; "" stands for expressions."""
    match predicate:
        case Leaf():
            return {predicate.column: filter_work(predicate, estimates, answers).entries}
        case Not(child):
            return entries_by_column(child, estimates, answers)
        case Filtered(rows, child):
            kept = filter_work(rows, estimates, answers).surviving
            return {
                column: entries * kept
                for column, entries in entries_by_column(child, estimates, answers).items()
            }
        case Constant():
            return {}
    reached: Sequence[Ratios | float] = [1.0] * len(predicate.children)
    if isinstance(predicate, And):
        reached = _reached([filter_work(child, estimates, answers) for child in predicate.children])
    found: dict[str, Ratios] = {}
    for child, share in zip(predicate.children, reached, strict=True):
        for column, entries in entries_by_column(child, estimates, answers).items():
            found[column] = found.get(column, 0.0) + entries * share
    return found


def _leaf_work(leaf: Leaf, estimate: LeafEstimate, answers: Answers, *, is_reordered: bool) -> Work:
    reads = answers(leaf)
    if reads is not None:
        entries = np.array(estimate.entries_per_row * reads)
        return Work(entries, estimate.surviving_ratios, is_answered=True)
    in_order = estimate.sorted_ratio if not is_reordered or estimate.is_constant else 0.0
    entries = np.array(estimate.entries_per_row * (1.0 - in_order))
    return Work(entries, estimate.surviving_ratios, is_answered=bool(entries == 0))


def _reached(children: Sequence[Work]) -> Sequence[Ratios]:
    """Return for each child of an AND the share of rows that is left when it is read."""
    values = [np.atleast_1d(v) for child in children for v in (child.entries, child.surviving)]
    both = np.array(np.broadcast_arrays(*values), dtype=float)
    entries, surviving = both[::2], both[1::2]
    instances = both.shape[1]
    rank = entries / (1.0 - np.minimum(surviving, _ALMOST_ALL))
    rank[[child.is_answered for child in children]] = -1.0
    order = np.argsort(rank, axis=0, kind="stable")
    passed = np.cumprod(np.take_along_axis(surviving, order, axis=0), axis=0)
    before = np.concatenate([np.ones((1, instances)), passed[:-1]])
    reached = np.empty_like(before)
    np.put_along_axis(reached, order, before, axis=0)
    return list(reached)
