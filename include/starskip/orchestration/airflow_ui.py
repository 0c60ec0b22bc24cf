"""Airflow's web page for the checkout and one person on this machine (``make ui``); Ctrl-C ends all of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from starskip.orchestration.airflow_environment import airflow_environment
from starskip.orchestration.report_places import FIRST_PAGE

_START_SECONDS = 180
_STOP_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command()
@click.option("--port", type=click.IntRange(1, 64_000), default=8080, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), default=Path(".airflow"), show_default=True)
def airflow_ui(port: int, home: Path) -> None:
    """Start ``airflow standalone`` and leave no process of it behind, however this ends."""
    home = home.absolute()
    if _answers(port):
        raise click.ClickException(f"port {port} is taken: choose another, make ui PORT={port + 1}")
    log = home / "logs" / "ui.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    # A shell that starts this in the background has it ignore Ctrl-C.
    for name in _SIGNALS:
        signal.signal(name, _interrupt)
    with log.open("a", encoding="utf-8") as full:
        # A session of its own, since a signal to the parent alone would leave its children running.
        process = subprocess.Popen(
            ["airflow", "standalone"],  # noqa: S607 - found on the PATH that we give it
            env=airflow_environment(Path.cwd(), os.environ, home=home, port=port),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        click.echo(f"Starting Airflow; its log is {log}")
        if _wait_until(lambda: _answers(port) or process.poll() is not None, _START_SECONDS):
            if process.poll() is None:
                address = f"http://127.0.0.1:{port}"
                click.echo(f"{address}  user admin, password {_password(home)}; Ctrl-C stops it")
                click.echo(f"{address}{FIRST_PAGE}  the reports of all nights")
            process.wait()
        raise click.ClickException(f"Airflow has stopped or did not start: see {log}")
    except KeyboardInterrupt:
        click.echo("\nStopping Airflow")
    finally:
        _stop(process)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _password(home: Path) -> str:
    path = home / "passwords.json"
    with suppress(OSError, ValueError):
        return str(json.loads(path.read_text())["admin"])
    return f"in {path}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End every process of the session that ``process`` leads."""
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)  # a second Ctrl-C must not leave half of them behind
    for name in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, name)
            # The leader is reaped here; the group is gone when nobody is left to take a signal.
            _wait_until(lambda: process.poll() is not None and not _is_alive(process.pid), _STOP_SECONDS)


def _is_alive(group: int) -> bool:
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return True
    return False


def _wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


if __name__ == "__main__":
    airflow_ui()
