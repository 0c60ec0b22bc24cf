from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from key_service import KeyService, key_service
from starskip.errors import ConfigError
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import KeyServiceOutage, WrongKey


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyService]:
    with key_service(tmp_path_factory.mktemp("bao")) as found:
        found.create_key("pii")
        found.create_key("other")
        yield found


def test_a_transit_engine_wraps_many_data_keys_at_once(service: KeyService) -> None:
    keyring = Keyring({"pii": service.url("pii")}, environment=service.environment())
    data_keys = [os.urandom(32) for _ in range(50)]
    wrapped = keyring.wrap("pii", data_keys)
    assert all(each.startswith("vault:v1:") for each in wrapped)
    # What this process has wrapped itself it need not ask for; another one does.
    fresh = Keyring({"pii": service.url("pii")}, environment=service.environment())
    assert fresh.unwrap("pii", wrapped) == data_keys
    # The engine's own rotation: what the former version has wrapped stays readable.
    service.ask("transit/keys/pii/rotate", {})
    again = Keyring({"pii": service.url("pii")}, environment=service.environment())
    assert again.unwrap("pii", wrapped) == data_keys
    assert again.wrap("pii", data_keys[:1])[0].startswith("vault:v2:")


def test_another_key_of_the_engine_is_a_wrong_key(service: KeyService) -> None:
    environment = service.environment()
    wrapped = Keyring({"k": service.url("pii")}, environment=environment).wrap("k", [os.urandom(32)])
    for url in (service.url("other"),):
        with pytest.raises(WrongKey, match="did not wrap"):
            Keyring({"k": url}, environment=environment).unwrap("k", wrapped)


def test_what_the_service_refuses_is_told_without_the_token(service: KeyService) -> None:
    refused = Keyring({"k": service.url("pii")}, environment=service.environment("not-the-token"))
    with pytest.raises(ConfigError, match=r"refuses to encrypt \(403\)") as raised:
        refused.wrap("k", [os.urandom(32)])
    assert "not-the-token" not in str(raised.value)
    with pytest.raises(ConfigError, match="VAULT_TOKEN"):
        Keyring({"k": service.url("pii")})
    with pytest.raises(ConfigError, match="without a token"):
        Keyring({"k": "vault+https://token@127.0.0.1/transit/pii"}, environment=service.environment())


def test_a_certificate_that_is_not_known_and_a_silent_service_are_outages(
    service: KeyService, tmp_path: Path
) -> None:
    strangers = Keyring({"k": service.url("pii")}, environment={"VAULT_TOKEN": "root"})
    with pytest.raises(KeyServiceOutage):
        strangers.wrap("k", [os.urandom(32)])
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and answers nothing
        url = f"vault+http://127.0.0.1:{silent.getsockname()[1]}/transit/pii"
        asked = Keyring({"k": url}, environment={"VAULT_TOKEN": "root"})
        with pytest.raises(KeyServiceOutage, match=r"does not answer \(TimeoutError\)"):
            asked.wrap("k", [os.urandom(32)])
