"""Run Python with these arguments, and print its wall time and the processor time of all programs below it.

The kernel hands programs whose parent has ended to this one: the Java of a Spark session counts, too.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time

_SET_CHILD_SUBREAPER = 36
"""Of Linux' ``prctl``; elsewhere programs that outlive their parents are not counted."""
_LEFT_BEHIND_S = 10.0
"""Seconds that servers of tests take to end, once the tests have."""


def main(arguments: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    tests = subprocess.Popen([sys.executable, *arguments])
    code = _waited_for(tests.pid)
    wall_s = time.monotonic() - began
    _wait_for_others(time.monotonic() + _LEFT_BEHIND_S)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{wall_s:,.0f} s of wall time, {spent.ru_utime + spent.ru_stime:,.0f} s of processors", flush=True)
    return code


def _waited_for(program: int) -> int:
    """Return the exit code of a program; others that end before it are waited for, too."""
    while True:
        try:
            ended, status = os.wait()
        except KeyboardInterrupt:
            continue  # the tests were interrupted as well, and end
        if ended == program:
            return os.waitstatus_to_exitcode(status)


def _wait_for_others(until: float) -> None:
    while time.monotonic() < until:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            time.sleep(0.1)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.exit(code if code >= 0 else 128 - code)
