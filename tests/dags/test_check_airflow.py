"""Checks of an Airflow's connections by ``starskip doctor``."""

from __future__ import annotations

import json
from collections.abc import Callable
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
def test_jobs_need_a_connection_to_spark(checked: Any, spark: Any, words: str) -> None:
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


def test_a_database_that_cannot_be_asked_is_a_warning(dag_bag: Any) -> None:
    """The home of these tests has none."""
    from starskip.airflow.check_airflow import check_pool

    assert [verdict for verdict, _ in check_pool()] == ["warning"]
