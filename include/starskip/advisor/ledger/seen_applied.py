"""Applied and gone: what a table's config shows of the indexes that the ledger knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.standing import newest_by_index

GONE = "it is as it was before in the table config: taken back by hand?"


def seen_applied(
    entries: Iterable[LedgerEntry],
    is_in_force: Callable[[AdvisedIndex], bool | None],
    at: datetime,
    who: str,
) -> list[LedgerEntry]:
    """Return the entries to add for one table, whose ledger has ``entries``, oldest first.

    An approved change that is made becomes APPLIED, and one that was applied and is undone TAKEN_BACK; both
    once. A change that a look at the config took back is seen again if it comes back. ``is_in_force``: None
    where the config does not tell.
    """
    found = []
    for entry in newest_by_index(entries).values():
        held = is_in_force(entry.index)
        if held is None:
            continue
        is_made = held is not entry.index.is_drop
        was_gone = entry.event is Event.TAKEN_BACK and entry.reason == GONE
        if is_made and (entry.event is Event.APPROVED or was_gone):
            found.append(_seen(entry, Event.APPLIED, at, who, ""))
        elif not is_made and entry.event in (Event.APPLIED, Event.KEPT):
            found.append(_seen(entry, Event.TAKEN_BACK, at, who, GONE))
    return found


def _seen(entry: LedgerEntry, event: Event, at: datetime, who: str, reason: str) -> LedgerEntry:
    """Return an entry of what was seen; what was measured stays with the application that measured it."""
    return LedgerEntry(
        entry.table,
        at,
        who,
        event,
        entry.index,
        entry.source,
        reason=reason,
        interval=entry.interval,
        table_predicted_saving_ratio=entry.table_predicted_saving_ratio,
        table_predicted_time=entry.table_predicted_time,
    )
