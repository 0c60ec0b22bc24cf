"""Run the four processes of an Airflow, and start one again that has died."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from starskip.airflow.child_process import ChildProcesses

PAGE = "api-server"
OTHERS = ("scheduler", "dag-processor", "triggerer")
"""The parts that need the page to answer: a task that begins before it does fails at once."""

_QUICK_SECONDS = 120
_QUICK_DEATHS = 3


@dataclass(slots=True)
class AirflowPart:
    """One part of Airflow: its process, when it was started, and how often in a row it has died at once."""

    name: str
    log: Path
    process: subprocess.Popen[Any]
    started: float
    quick_deaths: int = 0


@dataclass(slots=True)
class AirflowParts:
    """The parts of one Airflow, each with a log ``ui-*.log`` of its own.

    ``kept_open`` is a descriptor that each part inherits.
    """

    children: ChildProcesses
    environment: Mapping[str, str]
    logs: Path
    kept_open: int
    parts: list[AirflowPart] = field(default_factory=list)

    def start(self, *names: str) -> None:
        """Start some parts, to be kept alive from now on."""
        for name in names:
            log = self.logs / f"ui-{name}.log"
            self.parts.append(AirflowPart(name, log, self._process(name, log), time.monotonic()))

    def restart_dead(self) -> None:
        """Start each part again that has died, and say so; ClickException if one does not stay alive."""
        for part in self.parts:
            if part.process.poll() is not None:
                self._restart(part)

    def _restart(self, part: AirflowPart) -> None:
        is_quick = time.monotonic() - part.started < _QUICK_SECONDS
        part.quick_deaths = part.quick_deaths + 1 if is_quick else 0
        how = f"Airflow's {part.name} has ended ({_reason(part.process.returncode)})"
        if part.quick_deaths == _QUICK_DEATHS:
            raise click.ClickException(f"{how} {_QUICK_DEATHS} times soon after its start: see {part.log}")
        said = f"{how} and is started again; its log is {part.log}"
        click.echo(said)
        with part.log.open("a", encoding="utf-8") as log:
            log.write(f"{said}\n")
        # What it has left behind holds its ports, and tasks that nobody follows any more.
        self.children.stop(part.process)
        part.process, part.started = self._process(part.name, part.log), time.monotonic()

    def _process(self, name: str, log: Path) -> subprocess.Popen[Any]:
        with log.open("a", encoding="utf-8") as output:
            return self.children.start(["airflow", name], self.environment, output, pass_fds=[self.kept_open])


def _reason(exit_code: int) -> str:
    return f"exit code {exit_code}" if exit_code >= 0 else signal.Signals(-exit_code).name
