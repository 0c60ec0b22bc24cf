"""Advice of a night that the night before did not have, and that is worth a message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.errors import StarskipError


@dataclass(frozen=True, slots=True)
class NewAdvice:
    """New indexes of one table, and the share of all its entries that they would save together."""

    table: str
    indexes: tuple[AdvisedIndex, ...]
    saving_ratio: float


def new_advice(night: Night) -> list[NewAdvice]:
    """Return the tables whose new indexes save as much as the settings ask for a message, the most first.

    New is what the table's newest advice before this night did not have. A table that cannot be read is left
    out: its report says why.
    """
    snapshot = night.store.snapshot("reports", night.date_text)
    found = [
        new_on_table(night, table) for table in (snapshot.tables if snapshot else ()) if night.wants(table)
    ]
    least = night.settings.notifications.min_new_saving_ratio
    large = [each for each in found if each.indexes and each.saving_ratio >= least]
    return sorted(large, key=lambda each: each.saving_ratio, reverse=True)


def new_on_table(night: Night, table: str) -> NewAdvice:
    """Return the new indexes of a table, however little they save."""
    before = set()
    for days in range(1, ADVICE_NIGHTS):
        earlier = replace(night, run_date=night.run_date - timedelta(days=days))
        if advised := _advised(earlier, table):
            before = {each.name for each in advised}
            break
    new = tuple(each for each in _advised(night, table) if each.name not in before)
    return NewAdvice(table, new, sum(each.saving_ratio or 0.0 for each in new))


def _advised(night: Night, table: str) -> list[AdvisedIndex]:
    try:
        return [each for each in change_of_night(night, table).indexes if not each.is_drop]
    except (StarskipError, KeyError, TypeError):
        return []
