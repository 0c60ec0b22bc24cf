"""Cost of importing the DAG file, which Airflow does anew all day and before each task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starskip.airflow.airflow_environment import airflow_environment

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]
HEAVY = {
    "altair",
    "boto3",
    "datasketches",
    "duckdb",
    "great_expectations",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "scipy",
    "shapely",
    "sqlglot",
}
PROGRAM = """
import json, sys
import airflow.sdk
from airflow.sdk import DAG, BaseHook, CronDataIntervalTimetable, Param, TriggerRule, chain, task
from airflow.sdk.configuration import conf
from airflow.sdk.definitions.param import ParamsDict
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
import index_advisor_nightly_dag
imported = sorted(set(sys.modules) - before)
print(json.dumps({"modules": imported, "all": sorted({name.partition(".")[0] for name in sys.modules})}))
"""


def test_the_dag_file_is_imported_without_what_reads_nights(tmp_path: Path) -> None:
    environment = airflow_environment(CHECKOUT, os.environ, home=tmp_path)
    environment["PYTHONPATH"] = str(CHECKOUT / "include")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(CHECKOUT / "dags")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert HEAVY & set(told["all"]) == set()
    of_ours = [name for name in told["modules"] if name.startswith("starskip.")]
    # The form shows what the configuration holds, so that its reader is there, and no reader of artefacts.
    of_stores = [name for name in of_ours if name.startswith("starskip.storage.")]
    assert not [name for name in of_stores if not name.startswith("starskip.storage.files")]
    assert not any(name.startswith("starskip.night.quality") for name in of_ours)
