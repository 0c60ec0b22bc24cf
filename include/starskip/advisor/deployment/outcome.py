"""The outcome of an application, as commands print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starskip.advisor.deployment.application import Application, State

KEPT, REVERTED = "kept", "reverted"
"""Verdicts on an index."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run; ``state``: applied, reverted or unchanged; ``reason``: why, for people."""

    table: str
    before: str
    after: str
    forecast: Mapping[str, float]
    verdicts: Sequence[Mapping[str, Any]] = ()
    state: str = "unchanged"
    reason: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``--format json`` prints."""
        return {
            "table": self.table,
            "before": self.before,
            "after": self.after,
            "forecast": dict(self.forecast),
            "verdicts": [dict(each) for each in self.verdicts],
            "state": self.state,
        }


def outcome_of(application: Application) -> Outcome:
    """Return the outcome of an application that is over."""
    state = {State.KEPT: "applied", State.REVERTED: "reverted"}.get(application.state, "unchanged")
    return Outcome(
        application.table,
        application.before,
        application.after,
        application.forecast,
        application.verdicts,
        state,
        application.reason,
    )
