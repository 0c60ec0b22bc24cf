"""One application of advice to one table, as its journal keeps it: enough to go on or back after any end."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

import psutil

from starskip.advisor.deployment.judgement import Saving
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.pinot.config_change import KeyChange


class State(Enum):
    """Steps of an application; each is written before what it names is done.

    KEPT, REVERTED and SUPERSEDED are ends; SUPERSEDED: somebody else's config took the place of ours.
    STOPPED: somebody else changed the config meanwhile, and nothing more was written.
    """

    PUTTING = "putting"
    CANARY = "canary"
    RELOADING = "reloading"
    MEASURING = "measuring"
    TAKING_BACK = "taking_back"
    STOPPED = "stopped"
    KEPT = "kept"
    REVERTED = "reverted"
    SUPERSEDED = "superseded"


ENDS = (State.KEPT, State.REVERTED, State.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Application:
    """An application; ``before`` and ``after``: digests of the config, ``changes``: its keys that change.

    No other part of the config is kept, since a config may hold secrets. ``table``: with its type;
    ``advised_table``: as the advice, and so the ledger, names it.
    ``is_measured_bad``: whether it is taken back for what was measured. ``verdicts``: as commands print them.
    ``step`` grows with each record: whoever finds another number than their own has lost the table to
    another process, which ``host``, ``pid`` and ``process_started`` name.
    """

    id: str
    table: str
    advised_table: str
    controller: str
    source: str
    started_at: str
    who: str
    state: State
    before: str
    after: str
    changes: tuple[KeyChange, ...]
    indexes: tuple[AdvisedIndex, ...]
    canary: tuple[str, ...] = ()
    forecast: Mapping[str, float] = field(default_factory=dict)
    saving_ratio: float | None = None
    interval: tuple[float, float] | None = None
    time: TimeSaving | None = None
    reason: str = ""
    is_measured_bad: bool = False
    verdicts: Sequence[Mapping[str, Any]] = ()
    measured_saving_ratio: float | None = None
    replayed_ms: float | None = None
    measured_saving_ms: float | None = None
    reloaded_bytes: int | None = None
    reload_seconds: float = 0.0
    step: int = 0
    beat_at: str = ""
    host: str = ""
    pid: int = 0
    process_started: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if nothing is left to do."""
        return self.state in ENDS

    @property
    def back(self) -> tuple[KeyChange, ...]:
        """The changes that take the changes back."""
        return tuple(each.reversed() for each in self.changes)

    def is_process_gone(self) -> bool:
        """Return whether the process that wrote last ran on this machine and does no more."""
        if self.host != socket.gethostname():
            return False
        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.process_started) > 1)
        except psutil.Error:
            return True

    def is_of_this_process(self) -> bool:
        """Return whether this process wrote last."""
        return self.host == socket.gethostname() and self.pid == os.getpid()

    def to_json(self) -> dict[str, Any]:
        """Return the application as plain JSON."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            **plain,
            "state": self.state.value,
            "changes": [each.to_json() for each in self.changes],
            "indexes": [each.to_json() for each in self.indexes],
            "canary": list(self.canary),
            "forecast": dict(self.forecast),
            "interval": list(self.interval) if self.interval else None,
            "time": asdict(self.time) if self.time else None,
            "verdicts": [dict(each) for each in self.verdicts],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Application:
        """Return the application that ``to_json`` wrote."""
        interval = document["interval"]
        return cls(
            **{
                **document,
                "state": State(document["state"]),
                "changes": tuple(map(KeyChange.from_json, document["changes"])),
                "indexes": tuple(map(AdvisedIndex.from_json, document["indexes"])),
                "canary": tuple(document["canary"]),
                "interval": (interval[0], interval[1]) if interval else None,
                "time": TimeSaving(**document["time"]) if document["time"] else None,
            }
        )


def this_process() -> dict[str, Any]:
    """Return the fields that name this process."""
    started = psutil.Process().create_time()
    return {"host": socket.gethostname(), "pid": os.getpid(), "process_started": started}


KEPT, REVERTED = "kept", "reverted"
"""Verdicts on an index."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run; ``state``: applied, reverted or unchanged; ``reason``: why, for people."""

    table: str
    before: str
    after: str
    forecast: Mapping[str, float]
    verdicts: Sequence[Mapping[str, Any]] = ()
    state: str = "unchanged"
    reason: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``--format json`` prints."""
        return {
            "table": self.table,
            "before": self.before,
            "after": self.after,
            "forecast": dict(self.forecast),
            "verdicts": [dict(each) for each in self.verdicts],
            "state": self.state,
        }


def verdict_of(
    index: AdvisedIndex, verdict: str, detail: str, measured: Saving | None = None
) -> dict[str, Any]:
    """Return the verdict on an index as commands print it; ``measured``: None if no query was replayed."""
    return {
        "index": index.name,
        "predicted_saving_ratio": index.saving_ratio,
        "measured_saving_ratio": measured.ratio if measured else None,
        "predicted_saving_ms": index.saving_ms,
        "measured_saving_ms": measured.ms if measured else None,
        "verdict": verdict,
        "detail": detail,
    }


def outcome_of(application: Application) -> Outcome:
    """Return the outcome of an application that is over."""
    state = {State.KEPT: "applied", State.REVERTED: "reverted"}.get(application.state, "unchanged")
    return Outcome(
        application.table,
        application.before,
        application.after,
        application.forecast,
        application.verdicts,
        state,
        application.reason,
    )
