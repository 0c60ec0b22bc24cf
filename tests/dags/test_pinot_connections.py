"""The way to a live Pinot from Airflow's connections."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starskip.errors import ConfigError
from starskip.pinot.cluster.pinot_address import pinot_address

pytestmark = pytest.mark.dags

CONTROLLER, BROKER = "AIRFLOW_CONN_PINOT_CONTROLLER_DEFAULT", "AIRFLOW_CONN_PINOT_BROKER_DEFAULT"


@pytest.fixture
def connections(dag_bag: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``dag_bag`` has given Airflow a home of its own, so it may be imported."""
    from starskip.airflow.connections import PinotConnections

    for name in (CONTROLLER, BROKER):
        monkeypatch.delenv(name, raising=False)
    return PinotConnections


def test_basic_and_bearer_over_tls(connections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = {
        "conn_type": "pinot_admin",
        "host": "pinot",
        "port": 9443,
        "login": "ann",
        "password": "the-SECRET",
        "extra": {"schema": "https", "database": "db", "ca_file": "/ca.pem", "cmd_path": "pinot-admin.sh"},
    }
    broker = {
        "conn_type": "pinot",
        "host": "https://broker",
        "extra": {"token": "the-TOKEN", "endpoint": "/query/sql", "use_multistage_engine": False},
    }
    monkeypatch.setenv(CONTROLLER, json.dumps(controller))
    monkeypatch.setenv(BROKER, json.dumps(broker))
    environment = {"STARSKIP_PINOT_TOKEN": "of another user", "PATH": "kept"}
    connections().use(environment)
    assert environment == {
        "PATH": "kept",
        "STARSKIP_PINOT_CONTROLLER": "https://pinot:9443",
        "STARSKIP_PINOT_USER": "ann",
        "STARSKIP_PINOT_PASSWORD": "the-SECRET",
        "STARSKIP_PINOT_DATABASE": "db",
        "STARSKIP_PINOT_CA_FILE": "/ca.pem",
        "STARSKIP_PINOT_BROKER": "https://broker",
        "STARSKIP_PINOT_BROKER_TOKEN": "the-TOKEN",
    }
    found = pinot_address("", "", environment)
    assert (found.controller, found.broker) == ("https://pinot:9443", "https://broker")
    assert found.broker_authorization == "Bearer the-TOKEN"


def test_no_connection_and_airflows_sample_change_nothing(
    connections: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = {"conn_type": "pinot", "host": "localhost", "port": 9000, "extra": {"endpoint": "/query"}}
    monkeypatch.setenv(BROKER, json.dumps({**sample, "schema": "http"}))
    environment = {"STARSKIP_PINOT_CONTROLLER": "http://pinot:9000"}
    connections().use(environment)
    assert environment == {"STARSKIP_PINOT_CONTROLLER": "http://pinot:9000"}


@pytest.mark.parametrize(
    ("connection", "words"),
    [
        ({"conn_type": "pinot"}, "it has no host"),
        ({"conn_type": "pinot", "host": "h", "login": "SECRET"}, "login is given without password"),
        ({"conn_type": "pinot", "host": "h", "extra": {"colour": "SECRET"}}, "extra colour: not understood"),
        ({"conn_type": "pinot", "host": "h", "extra": {"schema": "SECRET"}}, "neither http nor https"),
        (
            {"conn_type": "pinot", "host": "h", "login": "a", "password": "SECRET", "extra": {"token": "b"}},
            "a token beside login and password",
        ),
    ],
)
def test_a_wrong_connection_is_told_without_its_values(
    connections: Any, monkeypatch: pytest.MonkeyPatch, connection: dict[str, Any], words: str
) -> None:
    monkeypatch.setenv(CONTROLLER, json.dumps(connection))
    with pytest.raises(ConfigError, match=f"pinot_controller_default: .*{words}.*live-pinot.md") as error:
        connections().use({})
    assert "SECRET" not in str(error.value)


def test_a_chosen_connection_must_be_there(connections: Any) -> None:
    with pytest.raises(ConfigError, match="ours is missing"):
        connections(controller="ours").use({})
