"""A ``spark-submit`` that runs jobs in one process, for nights of tests that are not about Spark."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

ON_A_CLUSTER = frozenset(
    {"collect_segment_metadata", "parse_query_logs", "fit_latency_model", "score_votes", "build_star_trees"}
)
"""The stages that the backfill's test submits to a cluster; that of a whole night submits the others."""

_PROGRAM = """#!{python}
import os, runpy, sys
from unittest.mock import MagicMock
words = sys.argv[1:]
job = next(word for word in words if word.endswith(".py"))
if os.path.basename(job)[:-3] in {stages!r} and set({where!r}) <= set(words):
    os.execv({real!r}, [{real!r}, *words])
import starskip.spark.stage_job as jobs
from starskip.execution.local_engine import LocalEngine
jobs.SparkSession, jobs.SparkEngine = MagicMock(), lambda session: LocalEngine()
sys.argv = words[words.index(job):]
runpy.run_path(job, run_name="__main__")
"""


def local_submit(program: Path, on_spark: Collection[str] = (), where: Collection[str] = ()) -> None:
    """Write the program; stages ``on_spark`` go to the real one, if a call has all words ``where``."""
    real = str(Path(sys.executable).with_name("spark-submit"))
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(
        _PROGRAM.format(python=sys.executable, real=real, stages=set(on_spark), where=set(where))
    )
    program.chmod(0o755)
