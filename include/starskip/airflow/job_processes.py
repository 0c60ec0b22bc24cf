"""Find and end the local processes of a submitted job, by their command line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

import psutil

from starskip.night.job_receipt import RECEIPT_OPTION

_PATIENCE_S = 10.0
_POLL_S = 0.05


def job_processes(command: Sequence[str]) -> list[psutil.Process]:
    """Return the processes of this user whose command line ends with ``command``, whatever their receipts.

    A job's Java and its Python both end with the job file and our arguments; no other job has the same run,
    tables and configuration among them. Each try of a job has a receipt of its own.
    """
    wanted, found = _but_receipt(command), []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_ours = process.uids().real == os.getuid() and process.pid != os.getpid()
            if is_ours and _but_receipt(process.cmdline())[-len(wanted) :] == wanted:
                found.append(process)
    return found


def _but_receipt(command: Sequence[str]) -> list[str]:
    return [word for word in command if not word.startswith(RECEIPT_OPTION)]


def with_descendants(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    """Return the processes and their descendants."""
    family = set()
    for process in processes:
        family.add(process)
        with suppress(psutil.Error):
            family.update(process.children(recursive=True))
    return family


def end_processes(processes: Iterable[psutil.Process]) -> int:
    """Ask the processes to end, kill those still running after 10 s, and return how many there were."""
    ending = list(processes)
    for process in ending:
        with suppress(psutil.Error):
            process.terminate()
    alive = _left_after_patience(ending)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    _left_after_patience(alive)
    return len(ending)


def _left_after_patience(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that go on running.

    The parent of a process collects its exit code: psutil's own wait would take it away.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while (alive := [each for each in processes if _is_running(each)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return alive


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
