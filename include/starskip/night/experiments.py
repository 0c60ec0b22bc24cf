"""Experiments: runs that try other settings for a night, kept beside the night's advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from starskip.advisor.run.night import NO_TABLE, Night
from starskip.errors import StorageError, printable
from starskip.storage.artefact_store import EXPERIMENTS, Experiment
from starskip.storage.manifest import Manifest

EXPERIMENT = "experiment"
"""The artefact by which an experiment says what it tried."""

_LONGEST_NOTE = 600
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """An experiment that has ended: its run, what it tried in words, and its tables with a report."""

    place: Experiment
    run_id: str
    note: str
    changes: str
    tables: tuple[str, ...]
    ended_at: datetime


def run_note(night: Night) -> str:
    """Return that this run is an experiment, or what it changed, in a sentence; empty for other runs."""
    run = printable(night.run_id, 120)
    if night.is_experiment:
        words = f"Experiment of run {run}: {_changes(night)}; it is not the night's advice."
    elif night.changed:
        words = f"Published by run {run} with other settings than the configuration's: {_changes(night)}."
    else:
        return ""
    return printable(words, _LONGEST_NOTE)


def note_experiment(night: Night, tables: Sequence[str]) -> None:
    """Publish what the experiment tried; ``tables``: those with a report."""
    found = {"run_id": night.run_id, "note": run_note(night), "changes": _changes(night), "tables": [*tables]}
    night.publish_note(EXPERIMENT, night.date_text, found)


def experiments_of(night: Night) -> tuple[ExperimentRun, ...]:
    """Return the experiments of this night that have ended, the newest first, at most 20."""
    names = night.store.storage.folders_in(f"{EXPERIMENTS}/{night.date_text}")
    found = (experiment_of(night, name) for name in names)
    return tuple(sorted(filter(None, found), key=lambda each: each.ended_at, reverse=True)[:_MOST_SHOWN])


def experiment_of(night: Night, name: str) -> ExperimentRun | None:
    """Return the experiment of this night and name, None if there is none or it cannot be read."""
    place = Experiment(night.date_text, name)
    store = replace(night.store, experiment=place)
    try:
        snapshot = store.snapshot(EXPERIMENT, night.date_text)
        return _experiment(place, snapshot.manifest) if snapshot else None
    except (StorageError, KeyError, TypeError):
        return None


def _experiment(place: Experiment, manifest: Manifest) -> ExperimentRun:
    found = manifest.parts[NO_TABLE].properties
    return ExperimentRun(
        place,
        printable(str(found["run_id"]), 120),
        printable(str(found["note"]), _LONGEST_NOTE),
        printable(str(found["changes"]), _LONGEST_NOTE),
        tuple(map(str, found["tables"])),
        manifest.created_at,
    )


def _changes(night: Night) -> str:
    changes = [f"{place} = {value}" for place, value in night.changed.items()]
    return ", ".join(changes) or "settings as configured"
