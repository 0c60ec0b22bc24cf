"""Judge a night that a test has spoilt, also by the gate without one of its expectations."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace

import pytest
from starskip.advisor.run.gate_verdicts import flagged_tables
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import stage_named
from starskip.night.quality import check_stage as check_stage_module
from starskip.night.quality.check_stage import check_stage, gates_after


def import_great_expectations() -> None:
    """Import it outside any test: it uses sre_constants, which Python 3.11 has deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("great_expectations")


def failed_checks(night: Night, stage: str, table: str) -> list[str]:
    """Run the gate and return the checks that failed, ``{table}`` for the name of the table."""
    verdicts = {verdict.table: verdict for verdict in check_stage(night, stage)}
    failed = [check.check.replace(table, "{table}") for check in verdicts[table].checks if not check.success]
    assert bool(failed) == (flagged_tables(night).get(table) == stage)
    return failed


def remove_check(monkeypatch: pytest.MonkeyPatch, night: Night, stage: str, check: str) -> None:
    """Take one expectation out of the gate."""
    gates = gates_after(stage_named(stage), night)
    kept = [[each for each in gate.expectations(night.settings) if each.check != check] for gate in gates]
    assert sum(map(len, kept)) == sum(len(gate.expectations(night.settings)) for gate in gates) - 1
    without = [
        replace(gate, expectations=lambda _, left=left: left) for gate, left in zip(gates, kept, strict=True)
    ]
    monkeypatch.setattr(check_stage_module, "gates_after", lambda *_: without)
