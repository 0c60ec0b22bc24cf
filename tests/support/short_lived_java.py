"""Options of Java for programs of tests that live for seconds: each Spark that a test submits has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CLASSES = Path(sys.prefix, "spark-classes.jsa")
"""Classes that Spark loads, which ``make test`` has archived (``include/sample/spark_classes.py``)."""

_ARCHIVE = f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off"

_COMPILED_SOON = (
    " -XX:Tier3InvocationThreshold=100 -XX:Tier3MinInvocationThreshold=50"
    " -XX:Tier3CompileThreshold=1000 -XX:Tier3BackEdgeThreshold=30000"
)
"""After half as many calls as is usual."""

SHORT_LIVED_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" + _COMPILED_SOON + (_ARCHIVE if _CLASSES.exists() else "")
)
"""They end before the optimising compiler would have paid for itself; the simple one soon has."""


def pytest_sessionstart() -> None:
    """Have Spark's launcher give them to every driver; of JAVA_TOOL_OPTIONS Java would print a line."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED_JAVA)
