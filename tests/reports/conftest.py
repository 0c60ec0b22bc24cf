from __future__ import annotations

from collections.abc import Callable

import pytest
from report_cases import CASES
from starskip.reports.evidence import Evidence


@pytest.fixture(scope="session")
def cases() -> dict[str, Callable[[], Evidence]]:
    """The made-up nights by name."""
    return CASES


@pytest.fixture
def evidence(cases: dict[str, Callable[[], Evidence]]) -> Evidence:
    """A sound night of lineitem."""
    return cases["lineitem"]()
