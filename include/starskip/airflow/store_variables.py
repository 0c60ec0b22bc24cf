"""Translate a connection to a cloud into the environment variables that open its stores.

Fields have the names that Airflow's own providers give them: of the types ``aws``, ``google_cloud_platform``,
``wasb`` and ``adls``. A field that is not understood is refused by its name, since a store that is opened
without it would be opened otherwise than its owner has written. Ignored are fields by which no store is
opened otherwise, since a connection often serves other work too. No message holds a value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starskip.airflow.azure_variables import azure_variables
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


_TRANSLATIONS: Mapping[str, Callable[[ConnectionFields], dict[str, str]]] = {
    "aws": _aws,
    "google_cloud_platform": _google,
    "wasb": azure_variables,
    "adls": azure_variables,
}
