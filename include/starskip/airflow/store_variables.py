"""Translate a connection to a cloud into the environment variables that open its stores.

Fields have the names that Airflow's own providers give them: of the types ``aws``, ``google_cloud_platform``,
``wasb`` and ``adls``. A field that is not understood is refused by its name, since a store that is opened
without it would be opened otherwise than its owner has written. Ignored are fields by which no store is
opened otherwise, since a connection often serves other work too. No message holds a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starskip.airflow.connection_fields import ConnectionFields

_IDENTITIES = tuple(
    frozenset(names.split())
    for names in (
        "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_TOKEN AWS_PROFILE AWS_SKIP_SIGNATURE "
        "AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE",
        "GOOGLE_SERVICE_ACCOUNT GOOGLE_SERVICE_ACCOUNT_PATH GOOGLE_SERVICE_ACCOUNT_KEY "
        "GOOGLE_APPLICATION_CREDENTIALS GOOGLE_BEARER_TOKEN GOOGLE_SKIP_SIGNATURE",
        "AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_ACCESS_KEY AZURE_STORAGE_MASTER_KEY AZURE_STORAGE_SAS_TOKEN "
        "AZURE_STORAGE_SAS_KEY AZURE_STORAGE_TOKEN AZURE_STORAGE_CLIENT_ID AZURE_STORAGE_CLIENT_SECRET "
        "AZURE_STORAGE_TENANT_ID AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID AZURE_SKIP_SIGNATURE",
        "STARSKIP_PINOT_TOKEN STARSKIP_PINOT_USER STARSKIP_PINOT_PASSWORD",
        "STARSKIP_PINOT_BROKER_TOKEN STARSKIP_PINOT_BROKER_USER STARSKIP_PINOT_BROKER_PASSWORD",
    )
)
"""The variables that say who asks, of each cloud and of Pinot's components."""


_PUBLIC = re.compile(r"([a-z0-9]{3,24})\.(?:blob|dfs)\.core\.windows\.net", re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9.]+|\[.*\]|localhost")


def store_variables(conn_type: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a connection's fields; ``given``: login, password, host and those of its extra.

    Raises ValueError, whose text names fields and holds no value.
    """
    translate = _TRANSLATIONS.get(conn_type)
    if translate is None:
        raise ValueError(f"it is of another type than {', '.join(_TRANSLATIONS)}")
    fields = ConnectionFields(conn_type, given)
    variables = translate(fields)
    fields.require_all_read()
    return {name: value for name, value in variables.items() if value}


def replaced_variables(variables: Mapping[str, str]) -> set[str]:
    """Return the variables of the identity that the one in ``variables`` stands in for.

    Two identities of one cloud must not be mixed: a session token of one does not go with the key of another.
    """
    return {name for identity in _IDENTITIES if identity & variables.keys() for name in identity}


def _aws(fields: ConnectionFields) -> dict[str, str]:
    keys = fields.pair("login", "password") or fields.pair("aws_access_key_id", "aws_secret_access_key")
    token = fields.text("aws_session_token")
    if token and not keys:
        raise ValueError("aws_session_token is given without login and password")
    of_s3 = ConnectionFields("aws", fields.mapping("service_config")).mapping("s3")
    endpoint = fields.text("endpoint_url")
    client = ConnectionFields("aws", fields.mapping("config_kwargs"))
    variables = {
        **dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), keys, strict=False)),
        "AWS_SESSION_TOKEN": token,
        "AWS_REGION": fields.text("region_name"),
        "AWS_ENDPOINT_URL": str(of_s3.get("endpoint_url") or endpoint),
        "AWS_PROFILE": fields.text("profile_name"),
        "AWS_SKIP_SIGNATURE": "true" if client.text("signature_version") == "unsigned" else "",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"
        if client.mapping("s3").get("addressing_style") == "virtual"
        else "",
    }
    fields.ignore("botocore_kwargs", "assume_role_kwargs", "external_id")
    return variables | _aws_role(fields)


def _aws_role(fields: ConnectionFields) -> dict[str, str]:
    role, method = fields.text("role_arn"), fields.text("assume_role_method")
    token_file = fields.text("assume_role_with_web_identity_token_file")
    fields.ignore("assume_role_with_web_identity_federation")
    if not role:
        return {}
    if method != "assume_role_with_web_identity" or not token_file:
        raise ValueError(
            "role_arn can be taken on by a web identity alone (assume_role_method, "
            "assume_role_with_web_identity_token_file); give any other role to the machines of the tasks"
        )
    return {"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": token_file}


def _google(fields: ConnectionFields) -> dict[str, str]:
    is_anonymous = fields.flag("is_anonymous")
    variables = {
        "GOOGLE_SERVICE_ACCOUNT": fields.text("key_path"),
        "GOOGLE_SERVICE_ACCOUNT_KEY": _service_account(fields),
        "GOOGLE_APPLICATION_CREDENTIALS": fields.text("credential_config_file"),
    }
    fields.ignore("project", "project_id", "scope", "scopes", "num_retries", "quota_project_id")
    if is_anonymous:
        return {"GOOGLE_SKIP_SIGNATURE": "true"}
    given = {name: value for name, value in variables.items() if value}
    if len(given) > 1:
        raise ValueError("it has several of key_path, keyfile_dict and credential_config_file")
    return given


def _service_account(fields: ConnectionFields) -> str:
    """Return the key of a service account as JSON, "" if there is none."""
    key = fields.mapping("keyfile_dict")
    if not key:
        return ""
    if missing := [name for name in ("client_email", "private_key") if not isinstance(key.get(name), str)]:
        raise ValueError(f"keyfile_dict has no {' and no '.join(missing)}")
    # As the provider does: forms and variables often hold the two characters in the place of the line's end.
    return json.dumps({**key, "private_key": key["private_key"].replace("\\n", "\n")})


def azure_variables(fields: ConnectionFields) -> dict[str, str]:
    """Return the variables of the account and of the one identity that the connection has.

    Which identity counts, of several, is as in Airflow's own provider.
    """
    fields.ignore("client_secret_auth_config", "proxies")
    text = fields.text("connection_string")
    if text:
        fields.ignore("login", "password", "host")
        return _of_connection_string(text)
    host = fields.text("account_url") or fields.text("host")
    fields.ignore("host")
    token, shared = fields.text("sas_token"), fields.text("shared_access_key")
    if "://" in token:
        host, _, token = token.partition("?")
    if tenant := fields.text("tenant_id"):
        application = fields.pair("login", "password")
        if not application:
            raise ValueError("tenant_id is given without login and password, those of an application")
        names = ("AZURE_STORAGE_CLIENT_ID", "AZURE_STORAGE_CLIENT_SECRET")
        of_application = dict(zip(names, application, strict=True))
        identities, login = [{**of_application, "AZURE_STORAGE_TENANT_ID": tenant}], ""
    else:
        login, password = fields.text("login"), fields.text("password")
        identities = [
            {"AZURE_STORAGE_ACCOUNT_KEY": shared},
            {"AZURE_STORAGE_SAS_TOKEN": token},
            {"AZURE_STORAGE_ACCOUNT_KEY": password or fields.text("account_key")},
            _managed(fields),
        ]
    fields.ignore("account_key", "managed_identity_client_id", "workload_identity_tenant_id")
    identity = next((each for each in identities if any(each.values())), {})
    return {**_account(host, login), **identity}


def _managed(fields: ConnectionFields) -> dict[str, str]:
    return {
        "AZURE_STORAGE_CLIENT_ID": fields.text("managed_identity_client_id"),
        "AZURE_STORAGE_TENANT_ID": fields.text("workload_identity_tenant_id"),
    }


def _of_connection_string(text: str) -> dict[str, str]:
    """Return the variables of a connection string, as Azure's portal gives it out."""
    parts = dict(part.partition("=")[::2] for part in text.strip().split(";") if part)
    given = {name.strip().lower(): value.strip() for name, value in parts.items()}
    if given.get("usedevelopmentstorage", "").lower() == "true":
        return {"AZURE_STORAGE_USE_EMULATOR": "true"}
    name, key, token = (given.get(n, "") for n in ("accountname", "accountkey", "sharedaccesssignature"))
    if not (key or token):
        raise ValueError("connection_string has neither AccountKey nor SharedAccessSignature")
    endpoint = given.get("blobendpoint", "")
    suffix = given.get("endpointsuffix", "core.windows.net")
    if not endpoint and name:
        endpoint = f"{given.get('defaultendpointsprotocol', 'https')}://{name}.blob.{suffix}"
    identity = {"AZURE_STORAGE_SAS_TOKEN": token} if token else {"AZURE_STORAGE_ACCOUNT_KEY": key}
    return {**_account(endpoint, name), **identity}


def _account(host: str, login: str) -> dict[str, str]:
    """Return the variables of the storage account: ``host`` is its URL, its address, or its name."""
    if not host or (login and "." not in host):
        host = login
    if not host:
        raise ValueError("it names no storage account: login or host does")
    if "." not in host and "://" not in host:
        return {"AZURE_STORAGE_ACCOUNT_NAME": host}
    url = urlsplit(host if "://" in host else f"https://{host}")
    public = _PUBLIC.fullmatch(url.netloc)
    if public and url.scheme == "https":
        return {"AZURE_STORAGE_ACCOUNT_NAME": public[1]}
    folder = url.path.strip("/").partition("/")[0]
    first = folder if _NUMBERS.fullmatch(url.hostname or "") else (url.hostname or "").partition(".")[0]
    endpoint = f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"
    return {"AZURE_STORAGE_ACCOUNT_NAME": login or first, "AZURE_STORAGE_ENDPOINT": endpoint}


_TRANSLATIONS: Mapping[str, Callable[[ConnectionFields], dict[str, str]]] = {
    "aws": _aws,
    "google_cloud_platform": _google,
    "wasb": azure_variables,
    "adls": azure_variables,
}
