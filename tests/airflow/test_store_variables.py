"""The variables that the connections of Airflow's own providers stand for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starskip.airflow.store_variables import replaced_variables, store_variables

KEYS = {"login": "ID", "password": "the-SECRET"}
ACCOUNT = {"client_email": "me@project.iam.gserviceaccount.com", "private_key": "-----BEGIN\\nthe-SECRET"}
STRING = "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=dGhlLVNFQ1JFVA==;EndpointSuffix="


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {}),
        ({"region_name": "eu-central-1"}, {"AWS_REGION": "eu-central-1"}),
        (KEYS, {"AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "the-SECRET"}),
        (
            {"aws_access_key_id": "ID", "aws_secret_access_key": "the-SECRET", "aws_session_token": "T"},
            {"AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "the-SECRET", "AWS_SESSION_TOKEN": "T"},
        ),
        ({"endpoint_url": "http://a:1"}, {"AWS_ENDPOINT_URL": "http://a:1"}),
        (
            {
                "endpoint_url": "http://a:1",
                "service_config": {"s3": {"endpoint_url": "http://s3:1"}, "sts": {}},
            },
            {"AWS_ENDPOINT_URL": "http://s3:1"},
        ),
        ({"profile_name": "night"}, {"AWS_PROFILE": "night"}),
        ({"config_kwargs": {"signature_version": "unsigned"}}, {"AWS_SKIP_SIGNATURE": "true"}),
        (
            {"config_kwargs": {"retries": {}, "s3": {"addressing_style": "virtual"}}},
            {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
        ),
        (
            {
                "role_arn": "arn:aws:iam::1:role/night",
                "assume_role_method": "assume_role_with_web_identity",
                "assume_role_with_web_identity_federation": "file",
                "assume_role_with_web_identity_token_file": "/var/token",
            },
            {"AWS_ROLE_ARN": "arn:aws:iam::1:role/night", "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/token"},
        ),
    ],
)
def test_fields_of_aws(given: dict[str, Any], wanted: dict[str, str]) -> None:
    assert store_variables("aws", given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {}),
        ({"project": "mine", "scope": "a", "num_retries": 5}, {}),
        ({"key_path": "/keys/night.json"}, {"GOOGLE_SERVICE_ACCOUNT": "/keys/night.json"}),
        (
            {"extra__google_cloud_platform__key_path": "/keys/night.json", "keyfile_dict": ""},
            {"GOOGLE_SERVICE_ACCOUNT": "/keys/night.json"},
        ),
        ({"credential_config_file": "/adc.json"}, {"GOOGLE_APPLICATION_CREDENTIALS": "/adc.json"}),
        ({"is_anonymous": True, "key_path": "/unused.json"}, {"GOOGLE_SKIP_SIGNATURE": "true"}),
    ],
)
def test_fields_of_google(given: dict[str, Any], wanted: dict[str, str]) -> None:
    assert store_variables("google_cloud_platform", given) == wanted


@pytest.mark.parametrize("written", [ACCOUNT, json.dumps(ACCOUNT)])
def test_the_key_of_a_service_account_has_real_line_ends(written: Any) -> None:
    found = store_variables("google_cloud_platform", {"keyfile_dict": written})
    assert json.loads(found["GOOGLE_SERVICE_ACCOUNT_KEY"])["private_key"] == "-----BEGIN\nthe-SECRET"


NAME, KEY = "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"
SAS, ENDPOINT = "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_ENDPOINT"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"login": "lake"}, {NAME: "lake"}),
        ({"login": "lake", "password": "the-SECRET"}, {NAME: "lake", KEY: "the-SECRET"}),
        ({"login": "lake", "account_key": "the-SECRET"}, {NAME: "lake", KEY: "the-SECRET"}),
        ({"login": "lake", "shared_access_key": "a", "password": "b"}, {NAME: "lake", KEY: "a"}),
        ({"login": "lake", "sas_token": "sv=1&sig=2"}, {NAME: "lake", SAS: "sv=1&sig=2"}),
        (
            {"sas_token": "https://lake.blob.core.windows.net/?sv=1&sig=2"},
            {NAME: "lake", SAS: "sv=1&sig=2"},
        ),
        ({"host": "https://lake.blob.core.windows.net/", "password": "k"}, {NAME: "lake", KEY: "k"}),
        ({"host": "lake.dfs.core.windows.net", "password": "k"}, {NAME: "lake", KEY: "k"}),
        (
            {"host": "https://lake.blob.core.chinacloudapi.cn"},
            {NAME: "lake", ENDPOINT: "https://lake.blob.core.chinacloudapi.cn"},
        ),
        (
            {"host": "http://127.0.0.1:10000/devstoreaccount1", "password": "k"},
            {NAME: "devstoreaccount1", ENDPOINT: "http://127.0.0.1:10000/devstoreaccount1", KEY: "k"},
        ),
        (
            {"login": "app", "password": "s", "tenant_id": "t", "host": "lake.blob.core.windows.net"},
            {
                NAME: "lake",
                "AZURE_STORAGE_CLIENT_ID": "app",
                "AZURE_STORAGE_CLIENT_SECRET": "s",
                "AZURE_STORAGE_TENANT_ID": "t",
            },
        ),
        (
            {"login": "lake", "managed_identity_client_id": "app", "workload_identity_tenant_id": "t"},
            {NAME: "lake", "AZURE_STORAGE_CLIENT_ID": "app", "AZURE_STORAGE_TENANT_ID": "t"},
        ),
        (
            {"connection_string": f"{STRING}core.windows.net", "login": "other"},
            {NAME: "lake", KEY: "dGhlLVNFQ1JFVA=="},
        ),
        (
            {"connection_string": f"{STRING}core.usgovcloudapi.net"},
            {NAME: "lake", KEY: "dGhlLVNFQ1JFVA==", ENDPOINT: "https://lake.blob.core.usgovcloudapi.net"},
        ),
        (
            {
                "extra__wasb__connection_string": "BlobEndpoint=https://lake.blob.core.windows.net/;"
                "QueueEndpoint=https://lake.queue.core.windows.net/;SharedAccessSignature=sv=1&sig=2"
            },
            {NAME: "lake", SAS: "sv=1&sig=2"},
        ),
        ({"connection_string": "UseDevelopmentStorage=true"}, {"AZURE_STORAGE_USE_EMULATOR": "true"}),
    ],
)
def test_fields_of_azure(given: dict[str, Any], wanted: dict[str, str]) -> None:
    assert store_variables("wasb", given) == wanted


def test_the_account_of_a_data_lake_is_its_host() -> None:
    given = {"host": "lake", "login": "app", "password": "s", "tenant_id": "t"}
    assert store_variables("adls", given)[NAME] == "lake"
    assert store_variables("adls", {"host": "lake", "password": "k"}) == {NAME: "lake", KEY: "k"}


@pytest.mark.parametrize(
    ("conn_type", "given", "message"),
    [
        ("http", KEYS, "of another type than aws, google_cloud_platform, wasb, adls"),
        ("aws", {"login": "the-SECRET"}, "login is given without password"),
        ("aws", {"password": "the-SECRET"}, "password is given without login"),
        ("aws", {"aws_session_token": "the-SECRET"}, "aws_session_token is given without"),
        ("aws", {**KEYS, "regoin_name": "the-SECRET"}, "extra regoin_name: not understood"),
        ("aws", {**KEYS, "host": "the-SECRET"}, "host: not understood"),
        ("aws", {**KEYS, "verify": False}, "extra verify: not understood"),
        ("aws", {**KEYS, "endpoint_url": ["the-SECRET"]}, "endpoint_url is not a text"),
        ("aws", {"role_arn": "the-SECRET"}, "role_arn can be taken on by a web identity alone"),
        ("aws", {"service_config": "the-SECRET"}, "service_config is not a JSON object"),
        ("google_cloud_platform", {"keyfile_dict": "the-SECRET"}, "keyfile_dict is not a JSON object"),
        (
            "google_cloud_platform",
            {"keyfile_dict": {"a": "the-SECRET"}},
            "no client_email and no private_key",
        ),
        (
            "google_cloud_platform",
            {"impersonation_chain": "the-SECRET"},
            "impersonation_chain: not",
        ),
        ("google_cloud_platform", {"key_path": "/a", "credential_config_file": "/b"}, "it has several of"),
        ("wasb", {"password": "the-SECRET"}, "names no storage account"),
        ("wasb", {"login": "the-SECRET", "tenant_id": "t"}, "login is given without password"),
        ("wasb", {"connection_string": "AccountName=lake;the-SECRET"}, "neither AccountKey nor"),
    ],
)
def test_what_is_half_given_or_unknown_is_named_and_never_shown(
    conn_type: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        store_variables(conn_type, given)
    assert "the-SECRET" not in str(caught.value)


def test_an_identity_stands_in_for_all_of_the_same_cloud() -> None:
    assert replaced_variables({"AWS_REGION": "a"}) == set()
    replaced = replaced_variables({"AWS_ACCESS_KEY_ID": "a"})
    assert {"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"} <= replaced
    assert all(name.startswith("AWS_") for name in replaced)
    assert "AZURE_STORAGE_ACCOUNT_KEY" in replaced_variables({SAS: "a"})
