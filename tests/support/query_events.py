"""The log of a day's queries on Spark, as the listener of nights writes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any


def query_events(table: Path, predicates: Sequence[dict[str, Any]], day: date) -> str:
    """Return the lines of a log in which each predicate was asked of the whole table."""
    noon = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000)
    events = [
        {
            "event": "starskip.query",
            "version": 1,
            "query_id": str(number),
            "started_ms": noon + number,
            "duration_ms": 20,
            "scans": [{"path": f"file:{table}", "predicate": each, "bytes_read": 10_000}],
        }
        for number, each in enumerate(predicates)
    ]
    return "".join(f"{json.dumps(event)}\n" for event in events)
