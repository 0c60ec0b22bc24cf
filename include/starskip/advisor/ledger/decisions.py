"""Decide on an advice: approve, reject or defer its indexes, by whichever command or page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from starskip.advisor.ledger.advised_index import AdvisedChange
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries, additions, ledger_entries
from starskip.advisor.ledger.standing import approved
from starskip.errors import CommitConflict, MissingSource, printable
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest_log import MAX_ATTEMPTS

MAX_REASON = 500
"""Characters of a reason; more are cut."""
_MAX_NAME = 100
_LONGEST_DEFERRAL = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision: APPROVED, REJECTED for a ``reason``, or DEFERRED ``until`` a day."""

    event: Event
    who: str
    reason: str = ""
    until: date | None = None


def may_wait_for(day: date, today: date) -> bool:
    """Return whether advice can be deferred until a day: it lies ahead, by at most ten years."""
    return timedelta(0) < day - today <= _LONGEST_DEFERRAL


def decide(
    store: ArtefactStore, advice: AdvisedChange, decision: Decision, names: Collection[str] = ()
) -> list[LedgerEntry]:
    """Write a decision on the indexes of these names, by default on all of the advice, and return it.

    An approval of some names what then stands approved as a whole, since it is applied as a whole: the
    indexes of this advice that were approved before, too. An approval of all is of this advice alone. Raises
    MissingSource for a name that the advice does not have, and for an advice that changes nothing.
    """
    known = [each.name for each in advice.indexes]
    table = printable(advice.table, 100)
    for name in names:
        if name not in known:
            raise MissingSource(
                f"{printable(name, 100)} is no index of the advice on {table}: use "
                f"{printable(', '.join(known), 300)}",
                source=name,
            )
    if not advice.indexes:
        raise MissingSource(
            f"table {table}: the advice of {printable(advice.source, 200)} changes nothing",
            source=advice.table,
        )
    is_part_approved = bool(names) and decision.event is Event.APPROVED
    for _ in range(MAX_ATTEMPTS):
        # An approval that was read without another person's approval of this moment would replace that one.
        after = additions(store, advice.table) if is_part_approved else None
        before = ledger_entries(store, advice.table) if is_part_approved else ()
        decided = _of_these(advice, names, approved(before)) if names else advice
        entries = _entries(decided, decision, datetime.now(UTC))
        at, who = entries[0].at, entries[0].who
        if add_entries(store, entries, created_at=at, created_by=who, after=after):
            return entries
    raise CommitConflict(f"table {table}: others decided first {MAX_ATTEMPTS} times; decide again")


def _of_these(
    advice: AdvisedChange, names: Collection[str], standing: Sequence[LedgerEntry]
) -> AdvisedChange:
    """Return the part of these names, with what stands approved of this advice or of a set beside it."""
    known = {each.name for each in advice.indexes}
    found = advice.only([*names, *(each.index.name for each in standing)])
    beside = tuple(
        each.index
        for each in standing
        if each.index.name not in known and each.source.startswith(f"{advice.source} ")
    )
    return AdvisedChange(advice.table, advice.source, (*found.indexes, *beside)) if beside else found


def _entries(advice: AdvisedChange, decision: Decision, at: datetime) -> list[LedgerEntry]:
    return [
        LedgerEntry(
            advice.table,
            at,
            printable(decision.who, _MAX_NAME),
            decision.event,
            each,
            advice.source,
            reason=printable(decision.reason, MAX_REASON),
            until=decision.until,
            interval=advice.interval,
            table_predicted_saving_ratio=advice.saving_ratio,
            table_predicted_time=advice.time,
        )
        for each in advice.indexes
    ]
