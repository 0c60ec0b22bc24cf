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
    ("spark", "words"),
    [({}, "is missing or cannot be read"), ({"spark_default": {"conn_type": "http"}}, "is of type http")],
)
def test_jobs_need_a_connection_to_spark(
    checked: Any, monkeypatch: pytest.MonkeyPatch, spark: Any, words: str
) -> None:
    monkeypatch.setattr("starskip.airflow.check_airflow._is_database_here", lambda: True)
    failed = [said for verdict, said in checked({}, **spark) if verdict == "failed"]
    assert failed == [
        f"spark_default {words}, and jobs are submitted by one of type spark, livy, aws, "
        "google_cloud_platform, databricks, kubernetes: docs/operate.md, Connections"
    ]


@pytest.mark.parametrize("kind", ["spark", "yarn", "k8s"])
def test_spark_submit_serves_the_types_that_a_master_gives(checked: Any, kind: str) -> None:
    assert ("ok", f"spark_default is of type {kind}") in checked({}, spark_default={"conn_type": kind})


def test_a_provider_that_is_not_installed_is_named(checked: Any) -> None:
    failed = [
        said for verdict, said in checked({}, spark_default={"conn_type": "livy"}) if verdict == "failed"
    ]
    provider = "apache-airflow-providers-apache-livy"
    assert failed == [f"spark_default is of type livy, which needs {provider}: pip install {provider}"]


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
