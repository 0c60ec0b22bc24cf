"""The end of ``make ui``. This file comes last in its folder: the others need the page that it ends."""

from __future__ import annotations

import fcntl
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]


def test_ctrl_c_ends_all_of_airflow(page: Any, house: Any) -> None:
    family = psutil.Process(page.process.pid).children(recursive=True)
    assert len(family) > 5
    # What a task has started leads a group, and may lead a session, of its own.
    assert page.stop(signal.SIGINT) == 0
    assert [each for each in family if each.is_running() and each.status() != "zombie"] == []
    assert house.processes() == []
    assert is_given_back(house.home / "ui.lock")


def is_given_back(lock: Path) -> bool:
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
