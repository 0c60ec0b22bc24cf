"""What a gate makes of a night that a test has spoilt, and the gate without one of its expectations."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace

import pytest
from starskip.quality import check_stage as check_stage_module
from starskip.quality.check_stage import check_stage
from starskip.run.gate_verdicts import flagged_tables
from starskip.run.night import Night


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
    gate = check_stage_module._GATES[stage]
    expectations = gate.expectations(night.settings)
    kept = [each for each in expectations if each.check != check]
    assert len(kept) == len(expectations) - 1
    monkeypatch.setitem(check_stage_module._GATES, stage, replace(gate, expectations=lambda _: kept))  # type: ignore[arg-type]
