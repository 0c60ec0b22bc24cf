"""The part of the last advice and of earlier nights in a night's choice, as values."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from starskip.advisor.selection.saving_interval import SavingInterval

BELOW_MIN_GAIN = "below_min_gain"
"""A kept index adds less than a new one has to add."""
NEAR_EQUAL = "near_equal"
"""A kept index has a place that another would take for too small a gain."""


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """A chosen index of the last advice that a fresh choice would not take; ``rule``: why it stays.

    ``adds_ratio``: what it adds to the other chosen indexes, where a new one has to add ``asked_ratio``; both
    are null of an index that serves whole queries.
    """

    family: str
    columns: tuple[str, ...]
    rule: str
    adds_ratio: float | None = None
    asked_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class OtherChoice:
    """Another set than the advised one, as families and columns, with its share of all entries."""

    indexes: tuple[tuple[str, tuple[str, ...]], ...]
    saving: SavingInterval


@dataclass(frozen=True, slots=True)
class FreshChoice:
    """The part of the past in a choice; another choice that is the advised one is None.

    ``fresh``: by the votes of all nights, without the last advice. ``tonight``: by this night's queries
    alone, of which the advised set saves ``tonight_saving``; None if no earlier night votes.
    """

    kept: tuple[KeptIndex, ...] = ()
    fresh: OtherChoice | None = None
    tonight: OtherChoice | None = None
    tonight_saving: SavingInterval | None = None

    def widened(self, factor: float) -> FreshChoice:
        """Return it with wider intervals."""
        return replace(
            self,
            fresh=_widened(self.fresh, factor),
            tonight=_widened(self.tonight, factor),
            tonight_saving=self.tonight_saving.widened(factor) if self.tonight_saving else None,
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return document


def _widened(choice: OtherChoice | None, factor: float) -> OtherChoice | None:
    return replace(choice, saving=choice.saving.widened(factor)) if choice else None
