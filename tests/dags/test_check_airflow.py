"""Checks of an Airflow's connections by ``starskip doctor``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import ConfigError

pytestmark = pytest.mark.dags


@pytest.fixture
def checked(dag_bag: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, str]]]:
    """Return what is found with these connections; ``dag_bag`` has given Airflow a home of its own."""
    from starskip.airflow.check_airflow import check_connections

    def found(environment: dict[str, str], **connections: dict[str, Any]) -> list[tuple[str, str]]:
        monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT", raising=False)
        for name, connection in connections.items():
            monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(connection))
        return list(check_connections(environment))

    return found


def test_keys_of_a_connection_are_used_and_not_shown(checked: Any) -> None:
    environment: dict[str, str] = {}
    store = {
        "conn_type": "aws",
        "login": "a-key",
        "password": "a-SECRET",
        "extra": {"region_name": "eu-central-1"},
    }
    found = checked(
        environment, spark_default={"conn_type": "spark", "host": "local[2]"}, starskip_store=store
    )
    assert {verdict for verdict, _ in found} == {"ok"}
    assert ("ok", "spark_default is of type spark") in found
    assert ("ok", "starskip_store is of type aws") in found
    assert ("ok", "starskip_keys is not there: the environment counts") in found
    assert environment["AWS_SECRET_ACCESS_KEY"] == "a-SECRET"
    assert "SECRET" not in str(found)


@pytest.mark.parametrize(
    ("connection", "words"),
    [
        (None, "is missing or cannot be read: give it as JSON, AIRFLOW_CONN_SPARK_DEFAULT="),
        ({"conn_type": "http"}, "is of type 'http', by which no job can be submitted: use one of spark, "),
        ({"conn_type": "spark"}, "names no master, which is its host"),
        (
            {"conn_type": "spark", "host": "spark://master:7077", "extra": {"deploy-mode": "cluster"}},
            ": Spark runs no Python job with deploy-mode cluster on a standalone cluster",
        ),
        (
            {"conn_type": "spark", "host": "local[2]", "extra": {"spark.jars": ["a.jar"]}},
            ": spark.jars takes a text or a number",
        ),
        (
            {"conn_type": "k8s", "host": "https://127.0.0.1:1"},
            ": to submit to Kubernetes needs apache-airflow-providers-cncf-kubernetes: pip install",
        ),
        ({"conn_type": "livy"}, ": pip install apache-airflow-providers-apache-livy"),
    ],
)
def test_a_connection_by_which_no_job_can_be_submitted_fails_as_the_night_would(
    checked: Any, monkeypatch: pytest.MonkeyPatch, connection: Any, words: str
) -> None:
    monkeypatch.setattr("starskip.airflow.check_airflow._is_database_here", lambda: True)
    found = checked({}, **({"spark_default": connection} if connection else {}))
    (failed,) = [said for verdict, said in found if verdict == "failed"]
    assert failed.startswith("the Airflow connection spark_default") and words in failed


@pytest.mark.parametrize("connection", [{"conn_type": "spark", "host": "yarn"}, {"conn_type": "yarn"}])
def test_spark_submit_serves_the_type_that_a_master_gives(checked: Any, connection: Any) -> None:
    assert ("ok", f"spark_default is of type {connection['conn_type']}") in checked(
        {}, spark_default=connection
    )


def test_a_connection_that_cannot_be_read_is_named(checked: Any) -> None:
    keys = {"conn_type": "generic", "password": "no JSON: a-SECRET"}
    with pytest.raises(ConfigError, match="the Airflow connection starskip_keys") as raised:
        checked({}, starskip_keys=keys)
    assert "SECRET" not in str(raised.value)


@pytest.fixture
def without_database(dag_bag: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker's configuration names no database; return where Airflow would begin one."""
    path = tmp_path / "airflow.db"
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{path}")
    for name in [name for name in os.environ if name.startswith("AIRFLOW_CONN_")]:
        monkeypatch.delenv(name)
    return path


def test_without_a_database_nothing_is_said_to_be_missing_and_none_is_made(
    without_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starskip.airflow.check_airflow import check_connections, check_pools

    monkeypatch.setenv("AIRFLOW_CONN_STARSKIP_STORE", '{"conn_type": "aws"}')
    found = list(check_connections({}))
    assert [verdict for verdict, _ in found].count("warning") == 1
    assert "Airflow's database is not reached from here" in found[0][1]
    assert ("ok", "starskip_store is of type aws") in found
    assert list(check_pools("stages")) == []
    assert not without_database.exists()


def test_connections_have_the_names_that_the_dag_gives_them(checked: Any) -> None:
    from starskip.airflow.check_airflow import check_connections

    checked({}, emr={"conn_type": "spark", "host": "local[2]"}, lake={"conn_type": "aws"})
    found = list(check_connections(dict(os.environ), "emr", "lake"))
    assert ("ok", "emr is of type spark") in found
    assert ("ok", "lake is of type aws") in found
