from __future__ import annotations

import json
from pathlib import Path

from starskip.orchestration.airflow_environment import airflow_environment

CHECKOUT = Path("/a/checkout")


def test_another_airflow_or_spark_of_the_caller_is_neither_used_nor_changed() -> None:
    caller = {
        "AIRFLOW_HOME": "/other",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://production",
        "AIRFLOW__CORE__EXECUTOR": "KubernetesExecutor",
        "SPARK_HOME": "/opt/spark",
        "PYSPARK_DRIVER_PYTHON": "ipython",
        "PYTHONPATH": "/other/code",
        "HOME": "/home/me",
    }
    found = airflow_environment(CHECKOUT, caller)
    assert not {"SPARK_HOME", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "AIRFLOW__CORE__EXECUTOR"} & found.keys()
    assert found["AIRFLOW_HOME"] == "/a/checkout/.airflow"
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "sqlite:////a/checkout/.airflow/airflow.db"
    assert found["HOME"] == "/home/me"


def test_spark_is_local_unless_the_caller_has_a_connection() -> None:
    assert json.loads(airflow_environment(CHECKOUT, {})["AIRFLOW_CONN_SPARK_DEFAULT"])["host"] == "local[2]"
    given = {"AIRFLOW_CONN_SPARK_DEFAULT": "spark://cluster:7077", "STARSKIP_CONFIG": "mine.yaml"}
    assert given.items() <= airflow_environment(CHECKOUT, given).items()


def test_everything_is_told_the_same_port_and_listens_here_only() -> None:
    found = airflow_environment(CHECKOUT, {}, port=18080)
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert found["AIRFLOW__API__PORT"] == "18080"
    assert found["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:18080"
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:18080/execution/"
