"""Cost of importing the DAG file, which Airflow does anew all day and before each task.

Every DAG file is known here with the DAGs that it must yield: Airflow skips a file in silence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


REGISTER = {
    "index_advisor_apply_dag.py": ["index_advisor_apply"],
    "index_advisor_nightly_dag.py": ["index_advisor_nightly"],
}
DAGS_FOLDER = Path(__file__).parents[2] / "dags"


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


def test_every_dag_file_is_in_the_register_and_no_other() -> None:
    assert sorted(path.name for path in DAGS_FOLDER.rglob("*.py")) == sorted(REGISTER)


def test_no_dag_file_fails_to_import(dag_bag: Any) -> None:
    assert dag_bag.import_errors == {}


@pytest.mark.parametrize("file", REGISTER)
def test_a_file_yields_its_dags(dag_bag: Any, file: str) -> None:
    found = [dag_id for dag_id, dag in dag_bag.dags.items() if Path(dag.fileloc).name == file]
    assert sorted(found) == sorted(REGISTER[file])


@pytest.mark.parametrize("dag_id", [dag_id for dag_ids in REGISTER.values() for dag_id in dag_ids])
def test_a_dag_is_documented_owned_tagged_and_runs_once_at_a_time(dag_bag: Any, dag_id: str) -> None:
    dag = dag_bag.dags[dag_id]
    assert len(dag.doc_md) > 200
    assert dag.description
    assert dag.owner == "starskip"
    assert "starskip" in dag.tags
    assert dag.max_active_runs == 1
    assert not dag.catchup
