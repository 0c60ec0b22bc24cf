"""An address has credentials from the environment alone, and shows them nowhere."""

from __future__ import annotations

from base64 import b64decode

import pytest
from starskip.errors import ConfigError
from starskip.pinot.cluster.pinot_address import pinot_address

URL = "http://pinot:9000"
SECRET = "s3cret,;=\\"


def test_user_and_password_are_basic() -> None:
    found = pinot_address(URL, "", {"STARSKIP_PINOT_USER": "ann", "STARSKIP_PINOT_PASSWORD": SECRET})
    scheme, _, coded = found.authorization.partition(" ")
    assert (scheme, b64decode(coded).decode()) == ("Basic", f"ann:{SECRET}")
    assert found.broker_authorization == found.authorization
    assert coded not in repr(found)


@pytest.mark.parametrize(
    ("token", "header"),
    [("abc.def", "Bearer abc.def"), ("Bearer abc", "Bearer abc"), ("Basic YWJj", "Basic YWJj")],
)
def test_a_token_may_have_its_scheme(token: str, header: str) -> None:
    assert pinot_address(URL, "", {"STARSKIP_PINOT_TOKEN": token}).authorization == header


def test_a_broker_may_have_credentials_of_its_own() -> None:
    given = {
        "STARSKIP_PINOT_TOKEN": "of-both",
        "STARSKIP_PINOT_BROKER_USER": "ann",
        "STARSKIP_PINOT_BROKER_PASSWORD": "x",
    }
    found = pinot_address(URL, "https://broker:8099/", given)
    assert (found.authorization, found.broker) == ("Bearer of-both", "https://broker:8099")
    assert found.broker_authorization.startswith("Basic ")


def test_the_environment_has_what_no_option_says() -> None:
    given = {
        "STARSKIP_PINOT_CONTROLLER": "https://pinot/prefix/",
        "STARSKIP_PINOT_BROKER": "http://b:1",
        "STARSKIP_PINOT_DATABASE": "db",
        "STARSKIP_PINOT_CA_FILE": "ca.pem",
    }
    found = pinot_address("", "", given)
    assert (found.controller, found.broker) == ("https://pinot/prefix", "http://b:1")
    assert (found.database, found.ca_file) == ("db", "ca.pem")
    assert pinot_address(URL, "", given).controller == URL


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"http://ann:{SECRET}@pinot:9000", "holds a user or password"),
        ("https://token@pinot", "holds a user or password"),
        ("pinot:9000", "write it as http://HOST:PORT"),
        ("ftp://pinot", "write it as http://HOST:PORT"),
        ("http://pinot:port", "write it as http://HOST:PORT"),
        (f"http:ann:{SECRET}@pinot:9000", "holds a user or password"),
        (f"http://pinot:9000?token={SECRET}", "write it as http://HOST:PORT"),
        (f"http://pinot:9000#{SECRET}", "write it as http://HOST:PORT"),
        ("http://", "write it as http://HOST:PORT"),
    ],
)
def test_another_url_is_refused_without_its_secrets(url: str, words: str) -> None:
    for controller, broker in ((url, ""), (URL, url)):
        with pytest.raises(ConfigError, match=words) as error:
            pinot_address(controller, broker, {})
        assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give the URL of Pinot's controller"),
        ({"STARSKIP_PINOT_CONTROLLER": URL, "STARSKIP_PINOT_USER": "ann"}, "go together"),
        (
            {"STARSKIP_PINOT_CONTROLLER": URL, "STARSKIP_PINOT_BROKER_PASSWORD": SECRET},
            "STARSKIP_PINOT_BROKER_USER and STARSKIP_PINOT_BROKER_PASSWORD go together",
        ),
        ({"STARSKIP_PINOT_CONTROLLER": URL, "STARSKIP_PINOT_TOKEN": f"{SECRET}\nx"}, "no header of HTTP"),
        ({"STARSKIP_PINOT_CONTROLLER": URL, "STARSKIP_PINOT_DATABASE": "ü"}, "no header of HTTP"),
    ],
)
def test_a_wrong_environment_is_told_by_the_names_of_variables(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        pinot_address("", "", given)
    assert SECRET not in str(error.value)
