"""Airflow's web page for the checkout and one person on this machine (``make ui``); Ctrl-C ends all of it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import IO

import click
import psutil

from starskip.orchestration.airflow_environment import airflow_environment
from starskip.orchestration.report_places import FIRST_PAGE

_START_SECONDS = 300
_STOP_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOG_SERVERS = (713, 714)
"""What ``airflow_environment`` adds to the port for those of the workers and the triggerer."""


@click.command()
@click.option("--port", type=click.IntRange(1, 64_000), default=8080, show_default=True)
@click.option("--home", type=click.Path(path_type=Path), default=Path(".airflow"), show_default=True)
def airflow_ui(port: int, home: Path) -> None:
    """Start ``airflow standalone`` and leave no process of it behind, however this ends."""
    home = home.absolute()
    address = f"http://127.0.0.1:{port}"
    log = home / "logs" / "ui.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)  # it holds the password, and the key that sessions are signed with
    with (home / "ui.lock").open("a+", encoding="utf-8") as lock, log.open("a", encoding="utf-8") as full:
        _take(lock, address)
        _require_free(port)
        # A shell that starts this in the background has it ignore Ctrl-C.
        for name in _SIGNALS:
            signal.signal(name, _interrupt)
        process = None
        try:
            process = subprocess.Popen(
                ["airflow", "standalone"],  # noqa: S607 - found on the PATH that we give it
                env=airflow_environment(Path.cwd(), os.environ, home=home, port=port),
                stdin=subprocess.DEVNULL,
                stdout=full,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Whoever kills us outright leaves an Airflow behind; it holds the lock on.
                pass_fds=[lock.fileno()],
            )
            click.echo(f"Starting Airflow; its log is {log}")
            _wait_until(lambda: _answers(port) or process.poll() is not None, _START_SECONDS)
            if _answers(port) and process.poll() is None:
                click.echo(f"{address}  user admin, password in {home / 'passwords.json'}; Ctrl-C stops it")
                click.echo(f"{address}{FIRST_PAGE}  the reports of all nights")
                process.wait()
            raise click.ClickException(f"Airflow has stopped or did not start: see {log}")
        except KeyboardInterrupt:
            click.echo("\nStopping Airflow")
        finally:
            for name in _SIGNALS:
                signal.signal(name, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
            if process is not None:
                _stop(process)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def _take(lock: IO[str], address: str) -> None:
    """Hold the home, whose database takes one Airflow; it is given back when the last of ours ends."""
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


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End ``process`` and all that came of it: ask first, then kill."""
    deadline = time.monotonic() + _STOP_SECONDS
    family: set[psutil.Process] = set()
    asked: set[psutil.Process] = set()
    while family := _family(process.pid, family):
        is_late = time.monotonic() > deadline
        for each in family if is_late else family - asked:
            with suppress(psutil.Error):
                each.kill() if is_late else each.terminate()
        asked |= family
        time.sleep(0.3)
        process.poll()  # a dead child counts as alive until it is looked at


def _family(leader: int, known: Collection[psutil.Process]) -> set[psutil.Process]:
    """Return who is alive of ``known``, of their children, and of the session of ``leader``.

    Tasks lead sessions of their own, and orphans are nobody's children: neither way finds all.
    """
    found = set(known)
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getsid(each.pid) == leader or each.pid == leader:
                found.add(each)
    for each in tuple(found):
        with suppress(psutil.Error):
            found.update(each.children(recursive=True))
    return set(filter(_is_alive, found))


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.3)


if __name__ == "__main__":
    airflow_ui()
