"""One entry of the ledger: a decision on an index, or what became of it when it was applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedIndex


class Event(Enum):
    """Kinds of entries: three decisions of a person, and what became of an index.

    APPLIED: seen in the table config, whoever put it there.
    KEPT: measured, and good. REFUTED: measured, and taken back with the rest of the advice. TAKEN_BACK: taken
    back by a person, or because it could not be measured.
    """

    APPROVED = "approved"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    APPLIED = "applied"
    KEPT = "kept"
    REFUTED = "refuted"
    TAKEN_BACK = "taken_back"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An event of one index of a table; the fields are those of the schema LEDGER.

    ``table_predicted_time``: what the whole advice was predicted to save of a mean query's time.
    """

    table: str
    at: datetime
    who: str
    event: Event
    index: AdvisedIndex
    source: str
    reason: str = ""
    until: date | None = None
    application: str = ""
    interval: tuple[float, float] | None = None
    measured_saving_ratio: float | None = None
    measured_saving_ms: float | None = None
    table_predicted_saving_ratio: float | None = None
    table_measured_saving_ratio: float | None = None
    table_predicted_time: TimeSaving | None = None
    table_replayed_ms: float | None = None
    table_measured_saving_ms: float | None = None
    reloaded_bytes: int | None = None
    reload_seconds: float | None = None
    detail: str = ""

    def to_row(self) -> dict[str, Any]:
        """Return the entry as a row of the schema LEDGER."""
        index, time = self.index, self.table_predicted_time
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "event": self.event.value,
            "index": index.name,
            "family": index.family,
            "columns": list(index.columns),
            "is_drop": index.is_drop,
            "config": json.dumps(index.config, sort_keys=True),
            "shapes": list(index.shapes),
            "predicted_saving_ratio": index.saving_ratio,
            "predicted_alone_ratio": index.alone_ratio,
            "predicted_saving_ms": index.saving_ms,
            "predicted_bytes": index.size_bytes,
            "predicted_low": self.interval[0] if self.interval else None,
            "predicted_high": self.interval[1] if self.interval else None,
            "table_logged_ms": time.ms_per_query if time else None,
            "table_predicted_saving_ms": time.saving_ms if time else None,
            "table_predicted_low_ms": time.low_ms if time else None,
            "table_predicted_high_ms": time.high_ms if time else None,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> LedgerEntry:
        """Return the entry of a row."""
        index = AdvisedIndex(
            row["family"],
            tuple(row["columns"]),
            json.loads(row["config"]),
            row["predicted_saving_ratio"],
            row["predicted_saving_ms"],
            row["predicted_bytes"],
            tuple(row["shapes"]),
            row["is_drop"],
            row["index"].partition("#")[2],
            row["predicted_alone_ratio"],
        )
        low, high = row["predicted_low"], row["predicted_high"]
        time = [row[name] for name in _TIME]
        return cls(
            **{name: row[name] for name in _PLAIN},
            event=Event(row["event"]),
            index=index,
            interval=None if low is None or high is None else (low, high),
            table_predicted_time=None if None in time else TimeSaving(*time),
        )


_PLAIN = (
    "table",
    "at",
    "who",
    "reason",
    "until",
    "source",
    "application",
    "measured_saving_ratio",
    "measured_saving_ms",
    "table_predicted_saving_ratio",
    "table_measured_saving_ratio",
    "table_replayed_ms",
    "table_measured_saving_ms",
    "reloaded_bytes",
    "reload_seconds",
    "detail",
)
"""Fields that rows hold as they are."""

_TIME = ("table_logged_ms", "table_predicted_saving_ms", "table_predicted_low_ms", "table_predicted_high_ms")
