"""The keys of encrypted metadata from an Airflow connection."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from starskip.errors import ConfigError
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey

pytestmark = pytest.mark.dags

Use = Callable[[MutableMapping[str, str]], None]
VARIABLE = "AIRFLOW_CONN_STARSKIP_KEYS"


@pytest.fixture
def use(dag_bag: Any) -> Use:
    """``dag_bag`` has given Airflow a home of its own, so it may be imported."""
    from starskip.airflow.keys_connection import use_keys_connection

    return use_keys_connection


def test_keys_of_the_connection_become_those_of_the_process(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    environment: dict[str, str] = {}
    use(environment)
    assert environment == {}
    keys = json.dumps({"pii": base64.b64encode(b"p" * 32).decode()})
    monkeypatch.setenv(VARIABLE, json.dumps({"conn_type": "generic", "password": keys}))
    use(environment)
    wrapped = Keyring.from_environment(environment).wrap("pii", [b"d" * 32])
    assert LocalKey(b"p" * 32).unwrap(wrapped) == [b"d" * 32]


@pytest.mark.parametrize("password", ["no JSON: the-SECRET", '{"pii": "the-SECRET"}', '["the-SECRET"]'])
def test_what_holds_no_keys_is_named_and_not_quoted(
    use: Use, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps({"conn_type": "generic", "password": password}))
    environment: dict[str, str] = {}
    with pytest.raises(ConfigError, match="connection starskip_keys cannot be read") as caught:
        use(environment)
    assert "the-SECRET" not in str(caught.value) and environment == {}
