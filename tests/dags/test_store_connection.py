"""The keys of an object store from an Airflow connection."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from starskip.errors import ConfigError

pytestmark = pytest.mark.dags

Use = Callable[[MutableMapping[str, str]], None]


@pytest.fixture
def use(dag_bag: Any) -> Use:
    """``dag_bag`` has given Airflow a home of its own, so it may be imported."""
    from starskip.airflow.store_connection import use_store_connection

    return use_store_connection


def test_keys_of_the_connection_become_the_environment(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {
        "conn_type": "aws",
        "login": "writer-key",
        "password": "writer-SECRET",
        "extra": {"endpoint_url": "http://127.0.0.1:9000", "region_name": "eu-central-1", "other": 1},
    }
    monkeypatch.setenv("AIRFLOW_CONN_STARSKIP_STORE", json.dumps(connection))
    environment = {"AWS_REGION": "us-east-1", "PATH": "kept"}
    use(environment)
    assert environment == {
        "PATH": "kept",
        "AWS_ACCESS_KEY_ID": "writer-key",
        "AWS_SECRET_ACCESS_KEY": "writer-SECRET",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
        "AWS_REGION": "eu-central-1",
    }


def test_a_connection_of_opensearch(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_STARSKIP_STORE", raising=False)
    connection = {
        "conn_type": "http",
        "login": "me",
        "password": "search-SECRET",
        "extra": {"ca_file": "/etc/ca.pem"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_STARSKIP_OPENSEARCH", json.dumps(connection))
    environment: dict[str, str] = {}
    use(environment)
    assert environment == {
        "STARSKIP_OPENSEARCH_USER": "me",
        "STARSKIP_OPENSEARCH_PASSWORD": "search-SECRET",
        "STARSKIP_OPENSEARCH_CA_FILE": "/etc/ca.pem",
    }


def test_no_such_connection_changes_nothing(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_STARSKIP_STORE", raising=False)
    environment = {"AWS_ACCESS_KEY_ID": "mine"}
    use(environment)
    assert environment == {"AWS_ACCESS_KEY_ID": "mine"}


def test_connection_that_cannot_be_read_is_named_and_not_quoted(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: str) -> None:
        raise ValueError("no JSON: the-SECRET")

    monkeypatch.setattr("airflow.sdk.BaseHook.get_connection", broken)
    with pytest.raises(ConfigError, match="connection starskip_store cannot be read") as caught:
        use({})
    assert "the-SECRET" not in str(caught.value)
