"""Every DAG file is known here with the DAGs that it must yield: Airflow skips a file in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

REGISTER = {
    "index_advisor_apply_dag.py": ["index_advisor_apply"],
    "index_advisor_nightly_dag.py": ["index_advisor_nightly"],
}
DAGS_FOLDER = Path(__file__).parents[2] / "dags"


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
