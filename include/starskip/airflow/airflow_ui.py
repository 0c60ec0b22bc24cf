"""Run Airflow's web page for the checkout and one person (``make ui``); Ctrl-C stops every process of it."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import click

from starskip.airflow.airflow_environment import airflow_environment
from starskip.airflow.child_process import child_process
from starskip.airflow.private_home import private_home
from starskip.airflow.report_places import FIRST_PAGE

_START_SECONDS = 300
_LOG_SERVERS = (713, 714)
"""Offsets of the ports of workers and triggerer in ``airflow_environment``."""


@click.command()
@click.option("--port", type=click.IntRange(1, 64_000), default=8080, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), default=Path(".airflow"), show_default=True)
def airflow_ui(port: int, home: Path) -> None:
    """Start ``airflow standalone`` and leave no process of it behind, however this ends."""
    home = home.absolute()
    address = f"http://127.0.0.1:{port}"
    log = private_home(home) / "ui.log"
    with (home / "ui.lock").open("a+", encoding="utf-8") as lock, log.open("a", encoding="utf-8") as full:
        _take(lock, address)
        _require_free(port)
        environment = airflow_environment(Path.cwd(), os.environ, home=home, port=port)
        # Whoever kills this process outright leaves an Airflow behind, which still holds the lock.
        command, kept_open = ["airflow", "standalone"], [lock.fileno()]
        with child_process(command, environment, full, pass_fds=kept_open) as process:
            try:
                click.echo(f"Starting Airflow; its log is {log}")
                _wait_until(lambda: _answers(port) or process.poll() is not None, _START_SECONDS)
                if _answers(port) and process.poll() is None:
                    passwords = home / "passwords.json"
                    click.echo(f"{address}  user admin, password in {passwords}; Ctrl-C stops it")
                    click.echo(f"{address}{FIRST_PAGE}  the reports of all nights")
                    process.wait()
                raise click.ClickException(f"Airflow has stopped or did not start: see {log}")
            except KeyboardInterrupt:
                click.echo("\nStopping Airflow")


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


def _wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.3)


if __name__ == "__main__":
    airflow_ui()
