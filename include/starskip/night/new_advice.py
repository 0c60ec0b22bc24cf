"""Advice of a night that the night before did not have, and that is worth a message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.errors import StarskipError


@dataclass(frozen=True, slots=True)
class NewAdvice:
    """New indexes of one table, and the share of all its entries that they would save together.

    ``change``: all of the night's advice on the table.
    """

    table: str
    indexes: tuple[AdvisedIndex, ...]
    saving_ratio: float
    change: AdvisedChange


def new_advice(night: Night) -> list[NewAdvice]:
    """Return the tables whose new indexes save as much as the settings ask for a message, the most first.

    New is what the table's newest advice before this night did not have. A table that cannot be read is left
    out: its report says why.
    """
    snapshot = night.store.snapshot("reports", night.date_text)
    tables = [table for table in (snapshot.tables if snapshot else ()) if night.wants(table)]
    least = night.settings.notifications.min_new_saving_ratio
    found = filter(None, (new_on_table(night, table) for table in tables))
    large = [each for each in found if each.saving_ratio >= least]
    return sorted(large, key=lambda each: each.saving_ratio, reverse=True)


def new_on_table(night: Night, table: str) -> NewAdvice | None:
    """Return the new indexes of a table, however little they save; None if there are none."""
    change = _advised(night, table)
    if change is None:
        return None
    days = map(timedelta, range(1, ADVICE_NIGHTS))
    earlier = (_advised(replace(night, run_date=night.run_date - each), table) for each in days)
    before = {each.name for each in _added(next(filter(None, earlier), None))}
    new = tuple(each for each in _added(change) if each.name not in before)
    return NewAdvice(table, new, sum(each.saving_ratio or 0.0 for each in new), change) if new else None


def _advised(night: Night, table: str) -> AdvisedChange | None:
    """Return the advice on a table, None if it adds no index or cannot be read."""
    try:
        change = change_of_night(night, table)
    except (StarskipError, KeyError, TypeError):
        return None
    return change if _added(change) else None


def _added(change: AdvisedChange | None) -> list[AdvisedIndex]:
    return [each for each in change.indexes if not each.is_drop] if change else []
