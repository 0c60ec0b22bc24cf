"""The end of ``make ui``. This file comes last in its folder: the others need the page that it ends."""

from __future__ import annotations

import fcntl
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]


def test_a_killed_scheduler_comes_back_and_ctrl_c_ends_all_of_airflow(page: Any, house: Any) -> None:
    ours = psutil.Process(page.process.pid)
    while not (schedulers := [each for each in ours.children() if "scheduler" in each.cmdline()]):
        time.sleep(0.1)
    while not schedulers[0].children():  # its log server and its workers
        time.sleep(0.1)
    left = schedulers[0].children(recursive=True)
    schedulers[0].kill()
    said = page.process.stdout.readline()
    assert said.startswith("Airflow's scheduler has ended (SIGKILL) and is started again; its log is ")
    while not (again := [each for each in ours.children() if "scheduler" in each.cmdline()]):
        time.sleep(0.1)
    assert again[0].pid != schedulers[0].pid and not any(map(is_alive, left))

    family = ours.children(recursive=True)
    assert len(family) >= 4
    # What a task has started leads a group, and may lead a session, of its own.
    assert page.stop(signal.SIGINT) == 0
    assert not any(map(is_alive, [*family, *left]))
    assert house.processes() == []
    assert is_given_back(house.home / "ui.lock")


def is_alive(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def is_given_back(lock: Path) -> bool:
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
