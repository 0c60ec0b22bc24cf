"""The replay before a change, kept with the journal: a later process judges by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from starskip.advisor.deployment.replay import Measured
from starskip.advisor.deployment.statements import Statement


@dataclass(frozen=True, slots=True)
class Baseline:
    """The replayed statements, and what each cost before the change."""

    statements: tuple[Statement, ...]
    before: tuple[Measured, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "statements": [asdict(each) for each in self.statements],
            "before": [asdict(each) for each in self.before],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Baseline:
        """Return the baseline that ``to_json`` wrote."""
        return cls(
            tuple(map(Statement.from_json, document["statements"])),
            tuple(Measured(**each) for each in document["before"]),
        )
