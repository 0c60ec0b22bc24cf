"""A process that is watched from outside while it runs: its seconds, its output, and peaks of memory by role.

Seconds of processors are those of the process and of all its descendants, as of the last look at each.
"""

from __future__ import annotations

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


def watched(
    command: Sequence[str], environment: Mapping[str, str], folder: str, beside: Sequence[int] = ()
) -> Watched:
    """Run ``command`` in ``folder`` to its end; the children of the processes ``beside`` count as its own."""
    peaks: Counter[str] = Counter()
    busy: dict[psutil.Process, float] = {}
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(
            command, env=dict(environment), cwd=folder, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            roots = [psutil.Process(each) for each in (process.pid, *beside)]
            while process.poll() is None:
                for each in roots:
                    _look(each, peaks, busy)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_EVERY_S)
        seconds = time.perf_counter() - started
        output.seek(0)
        lines = [line.rstrip() for line in output]
    return Watched(process.returncode, seconds, sum(busy.values()), dict(peaks), lines[-_LINES_KEPT:])


def _look(root: psutil.Process, peaks: Counter[str], busy: dict[psutil.Process, float]) -> None:
    """Note the memory and the processor seconds of each process.

    Spark kills its Python workers, so that no parent is told their seconds at their end.
    """
    with suppress(psutil.Error):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                role, used = _role(process), process.cpu_times()
                peaks[role] = max(peaks[role], process.memory_info().rss)
                busy[process] = used.user + used.system


def _role(process: psutil.Process) -> str:
    if process.name().startswith("java"):
        return JVM
    return WORKER if any("pyspark" in each and "daemon" in each for each in process.cmdline()) else DRIVER
