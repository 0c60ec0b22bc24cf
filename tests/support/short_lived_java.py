"""Options of Java for programs of tests that live for seconds."""

from __future__ import annotations

import sys
from pathlib import Path

_CLASSES = Path(sys.prefix, "spark-classes.jsa")
"""Classes that Spark loads, which ``make test`` has archived (``include/sample/spark_classes.py``)."""

_ARCHIVE = f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds=off -Xlog:cds+dynamic=off"

SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" + (_ARCHIVE if _CLASSES.exists() else "")
"""They end before the optimising compiler would have paid for itself."""
