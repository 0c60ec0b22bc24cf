"""An overview as JSON, and as CSV that a spreadsheet opens without taking a name for a formula."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from starskip.errors import printable
from starskip.reports.evidence_json import harmless_json
from starskip.reports.overview import Overview, TableRow

_MOST_CHARACTERS = 1_000
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def overview_json(found: Overview) -> bytes:
    """Return the overview as one ASCII JSON document."""
    document = {
        "nights": [each.isoformat() for each in found.nights],
        "unit": found.unit,
        "faults": [{"kind": each.kind, "table": each.table, "words": each.words} for each in found.faults],
        "tables": _documents(found),
    }
    return f"{harmless_json(document)}\n".encode()


def overview_csv(found: Overview) -> bytes:
    """Return a line a table, UTF-8 with the mark by which spreadsheets know it.

    A list is joined by semicolons. Text that a spreadsheet would take for a formula gets an apostrophe in
    front.
    """
    text = StringIO()
    documents = _documents(found)
    writer = csv.DictWriter(text, list(_document(_NOTHING, None)), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in each.items()} for each in documents)
    return text.getvalue().encode("utf-8-sig", "replace")


def _documents(found: Overview) -> list[Mapping[str, Any]]:
    ranks = {row.table: rank for rank, row in enumerate((*found.ranked, *found.lake), start=1)}
    return [_document(row, ranks.get(row.table)) for row in found.rows]


def _document(row: TableRow, rank: int | None) -> Mapping[str, Any]:
    advice = row.advice
    interval = advice.interval if advice else None
    return {
        "table": printable(row.table, _MOST_CHARACTERS),
        "rank": rank,
        "advised": advice and advice.run_date.isoformat(),
        "saving_ratio": advice and advice.saving_ratio,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "saving_entries": advice and advice.saving_entries,
        "saving_ms": advice and advice.saving_ms,
        "lake_ratio": advice and advice.lake_ratio,
        "lake_bytes": advice and advice.lake_bytes,
        "actions": [_action(each.kind, each.columns, is_drop=each.is_drop) for each in advice.indexes]
        if advice
        else [],
        "states": [f"{number}_{state}" for state, number in row.states.items()],
        "size_bytes": advice and advice.size_bytes,
        "unsized": advice and advice.unsized,
        "reload_seconds": row.reload_seconds,
        "times_trusted": advice and advice.times_trusted,
        "measured_less_predicted": row.measured and row.measured[0],
        "applications_measured": row.measured[1] if row.measured else 0,
        "last_night": row.outcome,
        "why": printable(row.why, _MOST_CHARACTERS),
    }


_NOTHING = TableRow("", None, "absent")


def _action(kind: str, columns: tuple[str, ...], *, is_drop: bool) -> str:
    return printable(f"{'drop ' if is_drop else ''}{kind}:{','.join(columns)}", _MOST_CHARACTERS)


def _cell(value: object) -> object:
    text = "; ".join(map(str, value)) if isinstance(value, list) else value
    if not isinstance(text, str):
        return text
    # Spreadsheets also look behind spaces.
    return f"'{text}" if text.lstrip().startswith(_FORMULA_STARTS) or text[:1].isspace() else text
