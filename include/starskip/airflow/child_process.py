"""Run a program in a session of its own, and stop all its processes when the caller ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import psutil

_STOP_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def child_process(
    command: Sequence[str], environment: Mapping[str, str], output: int | IO[str], **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """Run ``command`` while the block runs; at its end the command and all its descendants are stopped.

    ``output``, a pipe or a file, takes all output of the command; ``options`` are passed to Popen. Ctrl-C and
    the signals that ask this process to end raise KeyboardInterrupt in the block, and stop the command too.
    """
    # Until Popen returns the new process, a signal is only noted: raised in Popen it would lose the process.
    early: list[int] = []
    # A shell that starts this process in the background makes it ignore Ctrl-C.
    before = {name: signal.signal(name, lambda number, _: early.append(number)) for name in _SIGNALS}
    process = None
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of our own, no shell
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **options,
        )
        for name in _SIGNALS:
            signal.signal(name, _interrupt)
        if early:
            raise KeyboardInterrupt
        yield process
    finally:
        for name in _SIGNALS:
            signal.signal(name, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
        if process is not None:
            _stop(process)
            if process.stdout is not None:
                process.stdout.close()
        for name, handler in before.items():
            signal.signal(name, handler or signal.SIG_DFL)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def _stop(process: subprocess.Popen[Any]) -> None:
    """End ``process`` and its descendants: ask first, then kill."""
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
    process.wait()


def _family(leader: int, known: Collection[psutil.Process]) -> set[psutil.Process]:
    """Return the living processes of ``known``, of their children, and of the session of ``leader``.

    Tasks lead sessions of their own, and orphans have no parent: neither way finds all.
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
