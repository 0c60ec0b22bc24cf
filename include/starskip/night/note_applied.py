"""Note in the ledger what the night sees applied in its tables' configs, and what is gone from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from starskip.advisor.deployment.plan import is_in_force
from starskip.advisor.families.families import families_of_night
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries, ledger_entries
from starskip.advisor.ledger.standing import newest_by_index
from starskip.advisor.run.night import Night
from starskip.advisor.selection.vote_list import IndexSet
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.table_config import TableConfig

GONE = "it is as it was before in the table config: taken back by hand?"


def note_applied(night: Night, in_force: Mapping[str, IndexSet]) -> Sequence[LedgerEntry]:
    """Add an entry for each approved index that is there, and for each applied one that is gone.

    ``in_force``: by table of the night, the indexes on columns that it has. Where the night has the table's
    config, that decides. Return the entries.
    """
    configs = night.table_configs()
    known = {family.name: family for family in families_of_night(night).known}
    by_table: dict[str, list[LedgerEntry]] = {}
    for entry in ledger_entries(night.store):
        by_table.setdefault(entry.table, []).append(entry)
    who = f"the night of {night.date_text}"
    found: list[LedgerEntry] = []
    for table, entries in by_table.items():
        # Advice on one half of a hybrid table is of that half; a night may know the table by its plain name.
        of_night = table if table in in_force else without_type(table)[0]
        if of_night in in_force:
            given = configs.get(table) or configs.get(of_night, ())
            held = partial(_is_in_force, known, given, in_force[of_night])
            found += seen_applied(entries, held, night.started_at, who)
    add_entries(night.store, found, created_at=night.started_at, created_by=night.run_id)
    return found


def _is_in_force(
    known: Mapping[str, Family], configs: Iterable[TableConfig], in_force: IndexSet, index: AdvisedIndex
) -> bool | None:
    """Return whether the table has an index; None if that is not known."""
    family = known.get(index.family)
    if family is None or family.config is None:
        return None
    documents = [config.document for config in configs]
    if documents:
        return all(is_in_force(family, index, each) for each in documents)
    if family.path is None:
        return None
    is_held = in_force >= {Index(index.family, column) for column in index.columns}
    # Segments of a deep store lack what servers build as they load them: they can show a change as made, but
    # not as undone, in a night that the config is missing.
    return None if is_held is index.is_drop else is_held


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
