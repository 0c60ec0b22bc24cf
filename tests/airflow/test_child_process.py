"""Processes left of a program and of all that it started, however the one ends that runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from starskip.airflow.child_process import child_process

FAMILY = "sleep 300 & setsid sleep 300 & echo ready; wait"
"""A child, and one in a session of its own, as tasks of Airflow are."""

PROGRAM = """
import os, sys
from starskip.airflow.child_process import child_process
with child_process(["sh", "-c", sys.argv[1]], os.environ, None) as process:
    process.wait()
"""


def family_of(parent: int) -> list[psutil.Process]:
    return psutil.Process(parent).children(recursive=True)


def alive(family: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_all_that_the_program_has_started(name: signal.Signals) -> None:
    # As a shell starts what it puts into the background.
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    ours = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, FAMILY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **ignoring
    )
    with ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"ready\n"
        family = family_of(ours.pid)
        while len(family) < 3:
            time.sleep(0.05)
            family = family_of(ours.pid)
        ours.send_signal(name)
        assert ours.wait(timeout=60) != 0
        assert alive(family) == []


def test_a_signal_before_the_program_is_known_ends_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    popen, made = subprocess.Popen, []

    def signalled(*arguments: object, **options: object) -> object:
        made.append(popen(*arguments, **options))  # type: ignore[call-overload]
        os.kill(os.getpid(), signal.SIGTERM)
        return made[0]

    monkeypatch.setattr(subprocess, "Popen", signalled)
    with pytest.raises(KeyboardInterrupt), child_process(["sleep", "300"], os.environ, subprocess.PIPE):
        pytest.fail("the block must not begin")
    assert made[0].returncode is not None


def test_what_stays_behind_a_program_that_has_ended_is_ended_too(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        with child_process(["sh", "-c", "sleep 300 & echo $!"], os.environ, log) as process:
            assert process.wait() == 0
            left = psutil.Process(int((tmp_path / "log").read_text()))
            assert alive([left])
        assert alive([left]) == []


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(name) for name in names]
    with child_process(["true"], os.environ, subprocess.PIPE) as process:
        assert [signal.getsignal(name) for name in names] != before
    assert process.returncode is not None
    assert [signal.getsignal(name) for name in names] == before


def test_a_program_that_there_is_not_leaves_the_signals_as_they_were() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(FileNotFoundError), child_process(["no-such-program"], os.environ, subprocess.PIPE):
        pass
    assert signal.getsignal(signal.SIGTERM) == before
