"""Pinot's plan and counters of one query, with a star-tree in the plan or not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pinot.running_pinot import PinotFailed, RunningPinot


@dataclass(frozen=True, slots=True)
class Measured:
    """``used``: whether a tree was. The counters are those with trees. ``error``: why Pinot refuses it."""

    used: bool
    documents_scanned: int = 0
    entries_in_filter: int = 0
    entries_post_filter: int = 0
    error: str = ""

    def to_document(self, sql: str) -> dict[str, Any]:
        """Return what a test reads."""
        return {"sql": sql, **asdict(self)}


def measured(pinot: RunningPinot, sql: str) -> Measured:
    """Ask with trees and without, and for the plan."""
    try:
        with_trees = pinot.ask(sql)
        without = pinot.ask(sql, use_star_tree=False)
        plan = pinot.ask(f"EXPLAIN PLAN FOR {sql}").rows
    except PinotFailed as error:
        return Measured(False, error=str(error).rpartition("message")[2][:200])
    counters = [
        (each.documents_scanned, each.entries_in_filter, each.entries_post_filter)
        for each in (with_trees, without)
    ]
    in_plan = any("STARTREE" in str(row[0]).upper() for row in plan)
    return Measured(in_plan or counters[0] != counters[1], *counters[0])
