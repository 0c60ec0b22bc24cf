"""Run Airflow's web page for the checkout and one person (``make ui``); Ctrl-C stops every process of it.

A process that has died is started again.
"""

from __future__ import annotations

import fcntl
import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import click

from starskip.airflow.airflow_database import migrate_database
from starskip.airflow.airflow_environment import airflow_environment, private_home
from starskip.airflow.child_process import ChildProcesses, child_processes
from starskip.airflow.report_places import FIRST_PAGE

_START_SECONDS = 300
_LOG_SERVERS = (713, 714)
"""Offsets of the ports of workers and triggerer in ``airflow_environment``."""


PAGE = "api-server"
OTHERS = ("scheduler", "dag-processor", "triggerer")
"""The parts that need the page to answer: a task that begins before it does fails at once."""
_QUICK_SECONDS = 120
_QUICK_DEATHS = 3


@click.command()
@click.option("--port", type=click.IntRange(1, 64_000), default=8080, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), default=Path(".airflow"), show_default=True)
def airflow_ui(port: int, home: Path) -> None:
    """Run Airflow, start a part of it again that dies, and leave no process behind, however this ends."""
    home = home.absolute()
    address = f"http://127.0.0.1:{port}"
    logs = private_home(home)
    with (home / "ui.lock").open("a+", encoding="utf-8") as lock:
        _take(lock, address)
        _require_free(port)
        environment = airflow_environment(Path.cwd(), os.environ, home=home, port=port)
        with child_processes() as children:
            # Whoever kills this process outright leaves an Airflow behind, which still holds the lock.
            parts = AirflowParts(children, environment, logs, lock.fileno())
            try:
                click.echo(f"Starting Airflow; its logs are {logs}/ui-*.log")
                migrate_database(home, environment, logs / "ui-database.log")
                parts.start(PAGE)
                _keep_until(lambda: _answers(port), parts, _START_SECONDS)
                parts.start(*OTHERS)
                click.echo(f"{address}  user admin, password in {home / 'passwords.json'}; Ctrl-C stops it")
                click.echo(f"{address}{FIRST_PAGE}  the reports of all nights")
                _keep_until(lambda: False, parts, math.inf)
            except KeyboardInterrupt:
                click.echo("\nStopping Airflow")


def _keep_until(is_so: Callable[[], bool], parts: AirflowParts, seconds: float) -> None:
    """Keep all parts alive until ``is_so``; raise ClickException if that takes longer than ``seconds``."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise click.ClickException(f"Airflow's page does not answer: see {parts.logs}/ui-*.log")
        parts.restart_dead()
        time.sleep(0.3)


def _take(lock: IO[str], address: str) -> None:
    """Lock the home, whose database takes one Airflow; the lock is released when the last process ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        held = lock.read().strip() or "its page is not known yet"
        raise click.ClickException(
            f"Airflow runs already in {Path(lock.name).parent}: {held}; stop that one first"
        ) from None
    lock.truncate(0)
    lock.write(f"{address}, started by process {os.getpid()}\n")
    lock.flush()


def _require_free(port: int) -> None:
    for each in (port, *(port + more for more in _LOG_SERVERS)):
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", each))
        except OSError as error:
            beside = "" if each == port else f", which Airflow needs beside {port},"
            raise click.ClickException(
                f"port {each}{beside} cannot be had ({error.strerror}): choose another one, "
                f"make ui PORT={port + 10}"
            ) from None


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


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


if __name__ == "__main__":
    airflow_ui()
