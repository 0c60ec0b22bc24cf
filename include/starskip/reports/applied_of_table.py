"""The fate of advice that was applied on a table: from the ledger, tonight's log and the last report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import StarskipError, StorageOutage
from starskip.reports.afterwards_evidence import Afterwards, afterwards
from starskip.reports.applied_evidence import AppliedAdvice, applied_advice
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.published_reports import published_document


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
