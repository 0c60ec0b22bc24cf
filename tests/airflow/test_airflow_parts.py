"""Parts of Airflow that die, with programs of our own in Airflow's place."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click
import psutil
import pytest
from starskip.airflow.airflow_ui import AirflowParts
from starskip.airflow.child_process import child_processes


def house(folder: Path, program: str) -> dict[str, str]:
    """Return an environment whose ``airflow`` is a shell program."""
    (folder / "airflow").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "airflow").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_part_that_is_killed_comes_back_and_takes_nothing_of_its_own_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = house(tmp_path, "echo begins; sleep 300 & wait")
    with child_processes() as children, (tmp_path / "lock").open("w") as lock:
        parts = AirflowParts(children, environment, tmp_path, lock.fileno())
        parts.start("scheduler", "triggerer")
        killed, other = (part.process for part in parts.parts)
        while not (left := psutil.Process(killed.pid).children()):
            time.sleep(0.05)
        killed.kill()
        killed.wait()
        parts.restart_dead()
        assert not left[0].is_running() or left[0].status() == psutil.STATUS_ZOMBIE
        assert [part.process.poll() for part in parts.parts] == [None, None]
        assert parts.parts[0].process.pid != killed.pid and parts.parts[1].process is other
        said = f"Airflow's scheduler has ended (SIGKILL) and is started again; its log is {tmp_path}"
        assert capsys.readouterr().out.startswith(said)
        processes = [psutil.Process(part.process.pid) for part in parts.parts]
    assert said in (tmp_path / "ui-scheduler.log").read_text()
    assert not [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_a_part_that_does_not_stay_alive_ends_it_all_in_one_line(tmp_path: Path) -> None:
    environment = house(tmp_path, "exit 7")
    with child_processes() as children, (tmp_path / "lock").open("w") as lock:
        parts = AirflowParts(children, environment, tmp_path, lock.fileno())
        parts.start("dag-processor")
        with pytest.raises(click.ClickException) as caught:
            while True:
                parts.parts[0].process.wait()
                parts.restart_dead()
    log = tmp_path / "ui-dag-processor.log"
    said = f"Airflow's dag-processor has ended (exit code 7) 3 times soon after its start: see {log}"
    assert caught.value.message == said
