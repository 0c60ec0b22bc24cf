"""Options of Java for programs of tests that live for seconds: each Spark that a test submits has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CLASSES = Path(sys.prefix, "spark-classes.jsa")
"""Classes that Spark loads, which ``make test`` has archived (``include/sample/spark_classes.py``)."""

_ARCHIVE = f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off"

SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" + (_ARCHIVE if _CLASSES.exists() else "")
"""They end before the optimising compiler pays for itself: with it a file of tests takes twice as long."""


def pytest_sessionstart() -> None:
    """Have Spark's launcher give them to every driver; of JAVA_TOOL_OPTIONS Java would print a line."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED_JAVA)
