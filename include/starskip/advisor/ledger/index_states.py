"""States of the indexes of an advice: open, or what the ledger says about them since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.standing import approved, newest_by_index

OPEN = "open"
STATES = (OPEN, *(event.value for event in Event))
"""States of an index, in the order in which an advice goes through them."""


class Named(Protocol):
    """A value with the name of an index in the ledger."""

    @property
    def name(self) -> str:
        """Return the name."""
        ...


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of one index of an advice; ``entry``: the ledger's newest about it, None of an open one."""

    state: str
    entry: LedgerEntry | None = None


def index_states(
    indexes: Iterable[Named], entries: Iterable[LedgerEntry], advised_at: datetime
) -> Mapping[str, IndexState]:
    """Return the state of each index of an advice, by the index's name.

    ``entries``: of the table, oldest first. An approval stands until it is applied or withdrawn, or until
    another set is approved in its place. Any other entry that is older than the advice was known when the
    index was proposed again: the index is open.
    """
    known = list(entries)
    newest, standing = newest_by_index(known), approved(known)
    return {index.name: _state(newest.get(index.name), standing, advised_at) for index in indexes}


def _state(entry: LedgerEntry | None, standing: Sequence[LedgerEntry], advised_at: datetime) -> IndexState:
    if entry is None:
        return IndexState(OPEN)
    if entry not in standing if entry.event is Event.APPROVED else entry.at < advised_at:
        return IndexState(OPEN)
    return IndexState(entry.event.value, entry)
