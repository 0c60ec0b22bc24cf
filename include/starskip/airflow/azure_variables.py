"""Translate a connection to Azure's storage, of the type ``wasb`` or ``adls``, into environment variables."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from starskip.airflow.connection_fields import ConnectionFields

_PUBLIC = re.compile(r"([a-z0-9]{3,24})\.(?:blob|dfs)\.core\.windows\.net", re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9.]+|\[.*\]|localhost")


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
