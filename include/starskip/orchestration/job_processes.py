"""Find and end the local processes of a submitted job, by their command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

import psutil

_PATIENCE_S = 10.0


def job_processes(command: Sequence[str]) -> list[psutil.Process]:
    """Return the processes of this user whose command line ends with ``command``.

    A job's Java and its Python both end with the job file and our arguments, of which run and configuration
    are nobody else's.
    """
    wanted, found = list(command), []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_ours = process.uids().real == os.getuid() and process.pid != os.getpid()
            if is_ours and process.cmdline()[-len(wanted) :] == wanted:
                found.append(process)
    return found


def family_of(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    """Return the processes and their descendants."""
    family = set()
    for process in processes:
        family.add(process)
        with suppress(psutil.Error):
            family.update(process.children(recursive=True))
    return family


def end_processes(processes: Iterable[psutil.Process]) -> int:
    """Ask the processes to end, kill those that do not within 10 s, and return how many there were."""
    ending = list(processes)
    for process in ending:
        with suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(ending, timeout=_PATIENCE_S)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=_PATIENCE_S)
    return len(ending)
