"""The number of cases of a law: a fifth of its number in ``make test``, as many as wanted by a setting.

Laws draw other cases at each run. That so few are enough is shown by the faults planted beside them.
"""

from __future__ import annotations

import math
import os


def law_cases(name: str, default: int) -> int:
    """Return what the variable ``name`` of the environment says, or the default times ``STARSKIP_LAWS``."""
    given = os.environ.get(name)
    return int(given) if given else math.ceil(default * float(os.environ.get("STARSKIP_LAWS", "1")))
