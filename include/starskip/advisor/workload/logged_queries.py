"""The queries of one table in a night's log: how many, what they scanned, and what of them is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.advisor.workload.unlogged_texts import NOTHING_REDACTED, UnloggedTexts, unlogged_texts


@dataclass(frozen=True, slots=True)
class LoggedQueries:
    """Queries of one table in one log, and the entries that they scanned in filters.

    ``shapes``: how many different queries were understood. ``unlogged_``: what the broker dropped from its
    log, as estimated. ``unlogged_texts``: what the broker redacted. ``leaves``: queries that were leaves of
    multi-stage queries.
    """

    queries: int = 0
    failed: int = 0
    unparsed: int = 0
    shapes: int = 0
    entries: int = 0
    unlogged_queries: float = 0.0
    unlogged_entries: float = 0.0
    unlogged_texts: UnloggedTexts = NOTHING_REDACTED
    leaves: int = 0


def logged_queries(shapes: Sequence[ShapeWorkload], leaves: int = 0) -> LoggedQueries:
    """Return the sums over the shapes of one table."""
    return LoggedQueries(
        queries=sum(shape.queries for shape in shapes),
        failed=round(sum(shape.failed for shape in shapes)),
        unparsed=sum(shape.queries for shape in shapes if not shape.is_parsed),
        shapes=sum(shape.is_parsed for shape in shapes),
        entries=sum(shape.entries_scanned_in_filter for shape in shapes),
        unlogged_queries=sum((shape.unlogged_queries for shape in shapes), start=0.0),
        unlogged_entries=sum((shape.unlogged_entries_scanned_in_filter for shape in shapes), start=0.0),
        unlogged_texts=unlogged_texts(shapes),
        leaves=leaves,
    )
