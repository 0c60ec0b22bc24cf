"""A ``spark-submit`` that runs a job in one process, for whole nights of tests that are not about Spark."""

from __future__ import annotations

import sys
from pathlib import Path

_PROGRAM = """#!{python}
import os, runpy, sys
from unittest.mock import MagicMock
words = sys.argv[1:]
if {on_spark!r} and set({on_spark!r}) <= set(words):
    os.execv({real!r}, [{real!r}, *words])
import starskip.spark.stage_job as jobs
from starskip.execution.local_engine import LocalEngine
jobs.SparkSession, jobs.SparkEngine = MagicMock(), lambda session: LocalEngine()
job = next(word for word in words if word.endswith(".py"))
sys.argv = words[words.index(job):]
runpy.run_path(job, run_name="__main__")
"""


def local_submit(program: Path, on_spark: tuple[str, ...] = ()) -> None:
    """Write the program; a call that has all of the words ``on_spark`` is passed on to the real one."""
    real = str(Path(sys.executable).with_name("spark-submit"))
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_PROGRAM.format(python=sys.executable, real=real, on_spark=on_spark))
    program.chmod(0o755)
