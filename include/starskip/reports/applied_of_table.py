"""The fate of applied advice: from the ledger, tonight's log, the last report; predictions just refuted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import StarskipError, StorageOutage
from starskip.reports.afterwards_evidence import Afterwards, afterwards
from starskip.reports.afterwards_words import refuted_words
from starskip.reports.applied_evidence import AppliedAdvice, applied_advice
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.published_reports import published_document, published_evidence


def applied_of_table(
    night: Night, table: str, entries: Sequence[LedgerEntry], workload: Sequence[ShapeWorkload]
) -> AppliedAdvice | None:
    """Return the applications and the changes in force of a table; None if its ``entries`` tell of none."""
    last = partial(_last_afterwards, night, table)
    return applied_advice(entries, afterwards(night, table, entries, workload, last))


def _last_afterwards(night: Night, table: str) -> tuple[Afterwards, ...]:
    """Return what the last report told of changes in force; nothing if none of a week's can be read."""
    for age in range(1, ADVICE_NIGHTS):
        before = replace(night, run_date=night.run_date - timedelta(days=age))
        try:
            document = published_document(before, table, "report.json")
            told = evidence_from_json(document, f"report.json of {table}, {before.date_text}").applied
        except StorageOutage:
            raise
        except StarskipError:
            continue
        return told.afterwards if told else ()
    return ()


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
