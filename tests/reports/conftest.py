from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from starskip.reports.evidence import Evidence

Cases = dict[str, Callable[[], Evidence]]


@pytest.fixture(scope="session")
def cases() -> Cases:
    """The made-up nights by name."""
    found: Cases = runpy.run_path(str(Path(__file__).with_name("report_cases.py")))["CASES"]
    return found


@pytest.fixture
def evidence(cases: Cases) -> Evidence:
    """A sound night of lineitem."""
    return cases["lineitem"]()
