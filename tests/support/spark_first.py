"""Let the process of Spark's tests go first in ``make test``: those tests take the longest, in one session.

Else the other processes end minutes earlier, and leave a core without work.
"""

from __future__ import annotations

import os

_STEPS_DOWN = 5
"""A third of the share that an ordinary process gets."""
_tests = 0


def pytest_runtest_logstart(nodeid: str) -> None:
    """Lower the priority of a process of xdist's whose first test is none of Spark's."""
    global _tests
    _tests += 1
    if _tests == 1 and "PYTEST_XDIST_WORKER" in os.environ and not nodeid.startswith("tests/spark/"):
        os.nice(_STEPS_DOWN)
