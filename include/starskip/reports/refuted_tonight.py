"""Predictions of applied advice that the logs of later nights refute for the first time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.run.night import Night
from starskip.errors import StarskipError
from starskip.reports.afterwards_evidence import Afterwards
from starskip.reports.afterwards_words import refuted_words
from starskip.reports.published_reports import published_evidence


def refuted_tonight(night: Night) -> Iterator[tuple[str, str]]:
    """Yield the tables with such a prediction, each with a sentence; unreadable reports have none."""
    for table in sorted({each.table for each in ledger_entries(night.store) if night.wants(each.table)}):
        try:
            applied = published_evidence(night, table).applied
        except StarskipError:
            continue
        for change in applied.refuted if applied else ():
            if _is_first(change, night.run_date):
                yield table, refuted_words(change)


def _is_first(change: Afterwards, run_date: date) -> bool:
    *before, newest = change.nights
    return newest.run_date == run_date and not replace(change, nights=tuple(before)).is_refuted
