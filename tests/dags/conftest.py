"""The checkout's DAGs as Airflow sees them, with a home of Airflow's that no one else has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starskip.airflow.airflow_environment import airflow_environment

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def dag_bag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Load the DAGs, after setting the environment, which Airflow reads when it is first imported."""
    home = tmp_path_factory.mktemp("airflow")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in airflow_environment(CHECKOUT, os.environ, home=home).items():
            patch.setenv(name, value)
        patch.delenv("STARSKIP_CONFIG", raising=False)
        from airflow.dag_processing.dagbag import DagBag

        yield DagBag(CHECKOUT / "dags")


@pytest.fixture(scope="session")
def nightly(dag_bag: Any) -> Any:
    return dag_bag.dags["index_advisor_nightly"]


@pytest.fixture(scope="session")
def configured_job(dag_bag: Any) -> Callable[[Path | str, str], Any]:
    """Return what makes a task of the DAG whose nights a configuration describes, for all tables of a run."""
    from starskip.airflow import index_advisor_dag

    def made(config: Path | str, task_id: str) -> Any:
        task = index_advisor_dag(config).get_task(task_id)
        if getattr(task, "tables", None) is not None:
            task.tables = None  # of its group, which is known at run time
        return task

    return made
