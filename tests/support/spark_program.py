"""Run a program that makes a Spark session of its own, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import starskip


def run_spark_program(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with this checkout's package and PySpark; ``environment``: variables beside."""
    return subprocess.run(
        command,
        env={
            **{name: value for name, value in os.environ.items() if name != "SPARK_HOME"},
            "PYTHONPATH": str(Path(starskip.__file__).parents[1]),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
