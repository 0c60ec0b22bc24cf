"""A process that is watched from outside while it runs: its seconds, its output, and peaks of memory by role.

Seconds of processors are those of the process and of all its descendants.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

JVM, DRIVER, WORKER = "jvm", "driver", "worker"
_EVERY_S = 0.2
_LINES_KEPT = 400


@dataclass(frozen=True, slots=True)
class Watched:
    """``peak_bytes``: the greatest resident memory of any one process, by role; ``lines``: the last ones."""

    exit_code: int
    seconds: float
    processor_seconds: float
    peak_bytes: Mapping[str, int]
    lines: Sequence[str]


def watched(command: Sequence[str], environment: Mapping[str, str], folder: str) -> Watched:
    """Run ``command`` in ``folder`` to its end."""
    peaks: Counter[str] = Counter()
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command, env=dict(environment), cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
        root = psutil.Process(process.pid)
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            _note_peaks(root, peaks)
            time.sleep(_EVERY_S)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        output.seek(0)
        lines = [line.rstrip() for line in output]
    busy = ended[2].ru_utime + ended[2].ru_stime
    return Watched(process.returncode, seconds, busy, dict(peaks), lines[-_LINES_KEPT:])


def _note_peaks(root: psutil.Process, peaks: Counter[str]) -> None:
    with suppress(psutil.Error):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                role = _role(process)
                peaks[role] = max(peaks[role], process.memory_info().rss)


def _role(process: psutil.Process) -> str:
    if process.name().startswith("java"):
        return JVM
    return WORKER if any("pyspark" in each and "daemon" in each for each in process.cmdline()) else DRIVER
