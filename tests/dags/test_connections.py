"""Keys of stores from Airflow's connections."""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack
from typing import Any

import pytest
from starskip.errors import ConfigError
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey

pytestmark = pytest.mark.dags

VARIABLE = "AIRFLOW_CONN_STARSKIP_"


@pytest.fixture
def connections(dag_bag: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``dag_bag`` has given Airflow a home of its own, so it may be imported."""
    from starskip.airflow.connections import Connections

    for name in ("STORE", "OPENSEARCH", "KEYS"):
        monkeypatch.delenv(f"{VARIABLE}{name}", raising=False)
    return Connections


def test_keys_of_the_store_stand_in_for_those_of_the_environment(
    connections: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {
        "conn_type": "aws",
        "login": "writer-key",
        "password": "writer-SECRET",
        "extra": {"endpoint_url": "http://127.0.0.1:9000", "region_name": "eu-central-1"},
    }
    monkeypatch.setenv(f"{VARIABLE}STORE", json.dumps(connection))
    environment = {"AWS_REGION": "us-east-1", "AWS_SESSION_TOKEN": "of another key", "PATH": "kept"}
    connections().use(environment)
    assert environment == {
        "PATH": "kept",
        "AWS_ACCESS_KEY_ID": "writer-key",
        "AWS_SECRET_ACCESS_KEY": "writer-SECRET",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
        "AWS_REGION": "eu-central-1",
    }
    used = dict(environment)
    connections().use(environment)
    assert environment == used


def test_a_connection_as_a_uri(connections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{VARIABLE}STORE", "aws://ID:a%2FSECRET@/?region_name=eu-central-1")
    environment: dict[str, str] = {}
    connections().use(environment)
    assert environment["AWS_SECRET_ACCESS_KEY"] == "a/SECRET"
    assert environment["AWS_REGION"] == "eu-central-1"


def test_a_connection_of_opensearch(connections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {
        "conn_type": "http",
        "login": "me",
        "password": "the-SECRET",
        "extra": {"ca_file": "/ca.pem"},
    }
    monkeypatch.setenv(f"{VARIABLE}OPENSEARCH", json.dumps({**connection, "host": "not used"}))
    environment: dict[str, str] = {}
    connections().use(environment)
    assert environment == {
        "STARSKIP_OPENSEARCH_USER": "me",
        "STARSKIP_OPENSEARCH_PASSWORD": "the-SECRET",
        "STARSKIP_OPENSEARCH_CA_FILE": "/ca.pem",
    }


def test_a_connection_of_keys(connections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = json.dumps({"pii": base64.b64encode(b"p" * 32).decode()})
    monkeypatch.setenv(f"{VARIABLE}KEYS", json.dumps({"conn_type": "generic", "password": keys}))
    environment: dict[str, str] = {}
    connections().use(environment)
    wrapped = Keyring.from_environment(environment).wrap("pii", [b"d" * 32])
    assert LocalKey(b"p" * 32).unwrap(wrapped) == [b"d" * 32]


def test_without_a_connection_the_environment_stays(connections: Any) -> None:
    environment = {"AWS_ACCESS_KEY_ID": "mine"}
    connections().use(environment)
    assert environment == {"AWS_ACCESS_KEY_ID": "mine"}


def test_a_connection_that_somebody_named_must_be_there(connections: Any) -> None:
    with pytest.raises(ConfigError, match="connection lake_of_nights is missing"):
        connections(store="lake_of_nights").use({})


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("STORE", '{"conn_type": "aws", "password": "the-SECRET"', "is missing or cannot be read"),
        ("STORE", '{"conn_type": "aws", "extra": "the-SECRET"}', r"cannot be read \(JSONDecodeError\)"),
        ("STORE", '{"conn_type": "aws", "extra": "[1]"}', r"cannot be read \(TypeError\)"),
        ("STORE", '{"conn_type": "aws", "password": "the-SECRET"}', "password is given without login"),
        ("OPENSEARCH", '{"conn_type": "http", "password": "the-SECRET"}', "password is given without login"),
        ("OPENSEARCH", '{"conn_type": "http", "extra": {"cafile": "a"}}', "extra cafile: not understood"),
        ("KEYS", '{"conn_type": "generic", "password": "the-SECRET"}', "no JSON object of keys"),
        (
            "KEYS",
            """{"conn_type": "generic", "password": "{\\"pii\\": \\"the-SECRET\\"}"}""",
            "no JSON object",
        ),
    ],
)
def test_what_cannot_be_used_is_named_and_not_quoted(
    connections: Any, monkeypatch: pytest.MonkeyPatch, name: str, written: str, message: str
) -> None:
    monkeypatch.setenv(f"{VARIABLE}{name}", written)
    environment: dict[str, str] = {}
    with pytest.raises(ConfigError, match=f"connection starskip_{name.lower()}:? .*{message}") as caught:
        connections().use(environment)
    assert "the-SECRET" not in str(caught.value) and environment == {}


def test_what_is_secret_is_masked_in_logs(connections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.log import redact

    string = "AccountName=lake;AccountKey=dGhlLVNFQ1JFVA=="
    connection = {"conn_type": "wasb", "extra": {"connection_string": string}}
    monkeypatch.setenv(f"{VARIABLE}STORE", json.dumps(connection))
    keys = {"pii": base64.b64encode(b"q" * 32).decode()}
    monkeypatch.setenv(f"{VARIABLE}KEYS", json.dumps({"conn_type": "generic", "password": json.dumps(keys)}))
    connections().use({})
    assert redact(f"a dGhlLVNFQ1JFVA== b {keys['pii']}") == "a *** b ***"


@pytest.mark.parametrize(
    ("written", "message"),
    [("spark://local[2]", "is missing or cannot be read"), ('{"conn_type": "spark"}', "names no master")],
)
def test_a_connection_that_the_provider_would_take_for_another_cluster_is_refused(
    connections: Any, monkeypatch: pytest.MonkeyPatch, written: str, message: str
) -> None:
    from starskip.airflow.submitters.spark import submitting
    from starskip.airflow.submitters.spark_job import SparkJob
    from starskip.airflow.submitters.target import target_of

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", written)
    said = f"spark_default {message}.*: give it as JSON"
    with pytest.raises(ConfigError, match=said), ExitStack() as stack:
        target = target_of("spark_default", "votes")
        stack.enter_context(submitting(SparkJob("votes", (), "token"), target))
