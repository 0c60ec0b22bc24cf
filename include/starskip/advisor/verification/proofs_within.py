"""Answer queries both ways within a budget of bytes, the shapes that save most first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from starskip.number_text import size

Query = TypeVar("Query")
Proved = TypeVar("Proved")


@dataclass(frozen=True, slots=True)
class WantedProof(Generic[Query]):
    """A query to answer both ways: the ``instance``-th of its shape, from 1.

    ``saving``: predicted for all queries of the shape, in any one unit.
    """

    shape_id: str
    instance: int
    saving: float
    query: Query


@dataclass(frozen=True, slots=True)
class NotAsked:
    """Stands for the outcome of a query that was not asked."""

    reason: str


def proofs_within(
    wanted: Iterable[WantedProof[Query]],
    budget_bytes: int,
    most_shapes: int,
    cost_bytes: Callable[[Query], int],
    prove: Callable[[Query], tuple[Proved, int | None]],
) -> list[tuple[WantedProof[Query], Proved | NotAsked]]:
    """Return each query with its outcome, by shape, the shapes that save most first.

    The first query of each shape is asked before the second of any, until the budget is used up. A query that
    costs more than what is left is passed over. ``cost_bytes``: what a query is expected to read. ``prove``
    also returns what it did read, None if that is not known; it is charged, so that only the last query asked
    can exceed the budget, by the error of its expected cost. Shapes beyond ``most_shapes`` are not asked.
    Shapes that save alike keep their order.
    """
    ordered = sorted(wanted, key=lambda each: -each.saving)
    ranks: dict[str, int] = {}
    for each in ordered:
        ranks.setdefault(each.shape_id, len(ranks))
    left_bytes = budget_bytes
    found: list[tuple[WantedProof[Query], Proved | NotAsked]] = []
    for each in sorted(ordered, key=lambda each: (each.instance, ranks[each.shape_id])):
        if ranks[each.shape_id] >= most_shapes:
            reason = f"at most {most_shapes} query shapes are asked, the ones that save most"
            found.append((each, NotAsked(reason)))
            continue
        if left_bytes <= 0:
            found.append((each, NotAsked(f"the budget of {size(budget_bytes)} is used up")))
            continue
        expected_bytes = cost_bytes(each.query)
        if expected_bytes > left_bytes:
            found.append((each, NotAsked(_over_budget(expected_bytes, left_bytes, budget_bytes))))
            continue
        outcome, read_bytes = prove(each.query)
        left_bytes -= expected_bytes if read_bytes is None else read_bytes
        found.append((each, outcome))
    return sorted(found, key=lambda each: (ranks[each[0].shape_id], each[0].instance))


def _over_budget(expected_bytes: int, left_bytes: int, budget_bytes: int) -> str:
    query = f"one query reads {size(expected_bytes)} both ways"
    if expected_bytes > budget_bytes:
        return f"{query}, more than the budget of {size(budget_bytes)}"
    return f"{query}, and {size(left_bytes)} are left of the budget of {size(budget_bytes)}"
