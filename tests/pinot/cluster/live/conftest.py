"""A real Pinot 0.11, started once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live_pinot import sample_pinot
from pinot.running_pinot import RunningPinot


@pytest.fixture(scope="session")
def pinot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPinot]:
    with sample_pinot(tmp_path_factory.mktemp("pinot")) as running:
        yield running
