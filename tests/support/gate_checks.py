"""Judge a night that a test has spoilt, also by the gate without one of its expectations."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace

import pytest
from starskip.advisor.run.gate_verdicts import flagged_tables
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import stage_named
from starskip.execution.local_engine import LocalEngine
from starskip.night.quality import check_stage as check_stage_module
from starskip.night.quality.check_stage import check_stage, gates_after
from starskip.night.quality.count_rows import publish_counts
from starskip.night.stage_functions import stage_gate


def import_great_expectations() -> None:
    """Import it outside any test: it uses sre_constants, which Python 3.11 has deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("great_expectations")


def failed_checks(night: Night, stage: str, table: str) -> list[str]:
    """Count again, run the gate, and return the checks that failed, ``{table}`` for the name of the table."""
    count_again(night)
    verdicts = {verdict.table: verdict for verdict in check_stage(night, stage)}
    failed = [check.check.replace(table, "{table}") for check in verdicts[table].checks if not check.success]
    assert bool(failed) == (flagged_tables(night).get(table) == stage)
    return failed


def count_again(night: Night) -> None:
    """Count what the gates ask of artefacts, as the stages do that have published them."""
    for stage in map(stage_named, ("collect_segment_metadata", "parse_query_logs")):
        if night.store.snapshot(stage.artefact, night.date_text) is None:
            continue
        counts = stage_gate(stage.name).counts(night)
        publish_counts(LocalEngine(), night, stage.artefact, stage.name, counts)


def remove_check(monkeypatch: pytest.MonkeyPatch, night: Night, stage: str, check: str) -> None:
    """Take one expectation out of the gate."""
    gates = gates_after(stage_named(stage), night)
    kept = [[each for each in gate.expectations(night.settings) if each.check != check] for gate in gates]
    assert sum(map(len, kept)) == sum(len(gate.expectations(night.settings)) for gate in gates) - 1
    without = [
        replace(gate, expectations=lambda _, left=left: left) for gate, left in zip(gates, kept, strict=True)
    ]
    monkeypatch.setattr(check_stage_module, "gates_after", lambda *_: without)
