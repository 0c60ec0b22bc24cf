"""Rows of the lists of reports: a table, a night, and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.reports.report_summary import ReportSummary


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One table and night: its report, or why there is none.

    ``stopped``: the failed checks of the first gate that stopped the table; a report beside them comes from
    an earlier run of the same night, unless ``is_reported_still``. ``table`` is empty if a whole night cannot
    be read, or failed: ``failed`` says why.
    """

    run_date: date
    table: str
    summary: ReportSummary | None = None
    stopped: tuple[GateCheck, ...] = ()
    problem: str | None = None
    is_reported_still: bool = False
    failed: str | None = None


Gap = tuple[date, date]
"""The first and the last of some days in a row on which no night was run."""


def gaps_between(gaps: Sequence[Gap], newer: date, older: date | None) -> tuple[Gap, ...]:
    """Return the gaps before ``newer`` and behind ``older``, None for all that are older, newest first."""
    return tuple(gap for gap in gaps if gap[1] < newer and (older is None or gap[0] > older))


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows; the list goes on at the night ``older``, None if it ends.

    It goes on behind the table whose page name is ``older_after``, if that is not empty.
    """

    rows: tuple[ReportRow, ...]
    older: date | None = None
    older_after: str = ""
    gaps: tuple[Gap, ...] = ()
