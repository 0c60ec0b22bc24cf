"""Run a program in a session of its own, and stop all its processes when the caller ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click
import psutil

from starskip.airflow.progress_line import progress_text
from starskip.errors import printable
from starskip.storage.files.full_disk import full_disk, is_full_disk

_STOP_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception): (.+)")


@contextmanager
def child_process(
    command: Sequence[str], environment: Mapping[str, str], output: int | IO[str], **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """Run ``command`` while the block runs; at its end the command and all its descendants are stopped.

    ``output``, a pipe or a file, takes all output of the command; ``options`` are passed to Popen. Ctrl-C and
    the signals that ask this process to end raise KeyboardInterrupt in the block, and stop the command too.
    """
    with child_processes() as children:
        yield children.start(command, environment, output, **options)


class ChildProcesses:
    """The processes of a block of ``child_processes``; more of them may be started at any time."""

    def __init__(self) -> None:
        """Begin without a process; a signal before the first one is noted."""
        self._started: list[subprocess.Popen[Any]] = []
        self._early: list[int] = []
        self.note_signals()

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], output: int | IO[str], **options: Any
    ) -> subprocess.Popen[Any]:
        """Start ``command`` in a session of its own, as ``child_process`` does."""
        # Until Popen returns the new process, a signal is only noted: raised in Popen it would lose the
        # process.
        self.note_signals()
        process = subprocess.Popen(  # noqa: S603 - a list of our own, no shell
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **options,
        )
        self._started.append(process)
        for name in _SIGNALS:
            signal.signal(name, _interrupt)
        if self._early:
            raise KeyboardInterrupt
        return process

    def note_signals(self) -> None:
        """Note signals from now on, which are answered when the next process is started."""
        for name in _SIGNALS:
            signal.signal(name, lambda number, _: self._early.append(number))

    def stop(self, *processes: subprocess.Popen[Any]) -> None:
        """End these processes, by default all, with their descendants, dead parents' too."""
        stopped = processes or tuple(self._started)
        _stop(stopped)
        for process in stopped:
            if process.stdout is not None:
                process.stdout.close()
            self._started.remove(process)


@contextmanager
def child_processes() -> Iterator[ChildProcesses]:
    """Yield what starts processes; when the block ends, each of them is stopped with its descendants."""
    # A shell that starts this process in the background makes it ignore Ctrl-C.
    before = {name: signal.getsignal(name) for name in _SIGNALS}
    children = None
    try:
        children = ChildProcesses()
        yield children
    finally:
        for name in _SIGNALS:
            signal.signal(name, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
        if children is not None:
            children.stop()
        for name, handler in before.items():
            signal.signal(name, handler or signal.SIG_DFL)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def _stop(processes: Collection[subprocess.Popen[Any]]) -> None:
    """End the processes and their descendants: ask first, then kill."""
    deadline = time.monotonic() + _STOP_SECONDS
    leaders = {process.pid for process in processes}
    family: set[psutil.Process] = set()
    asked: set[psutil.Process] = set()
    while family := _family(leaders, family):
        is_late = time.monotonic() > deadline
        for each in family if is_late else family - asked:
            with suppress(psutil.Error):
                each.kill() if is_late else each.terminate()
        asked |= family
        time.sleep(0.3)
    for process in processes:
        process.wait()


def _family(leaders: Collection[int], known: Collection[psutil.Process]) -> set[psutil.Process]:
    """Return the living processes of ``known``, of their children, and of the sessions of ``leaders``.

    Tasks lead sessions of their own, and orphans have no parent: neither way finds all.
    """
    found = set(known)
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getsid(each.pid) in leaders or each.pid in leaders:
                found.add(each)
    for each in tuple(found):
        with suppress(psutil.Error):
            found.update(each.children(recursive=True))
    return set(filter(_is_alive, found))


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def follow_command(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[int, str | None]:
    """Run ``command`` into ``log``, show its progress; return its exit code and the last exception's text."""
    reason, started = None, time.monotonic()
    text_of = {"encoding": "utf-8", "errors": "replace"}
    try:
        with (
            log.open("a", encoding="utf-8") as full,
            child_process(command, environment, subprocess.PIPE, **text_of) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                full.write(line)
                text = progress_text(line)
                if text is not None:
                    click.echo(f"  {time.monotonic() - started:5.0f} s  {text}")
                elif raised := _RAISED.match(line):
                    reason = printable(raised[1], 2000)
            return process.wait(), reason
    except OSError as error:
        if not is_full_disk(error):
            raise
        raise click.ClickException(str(full_disk(error, log.parent))) from None
