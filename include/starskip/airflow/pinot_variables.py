"""Translate connections to a live Pinot into the environment variables by which commands find it.

Fields have the names that Airflow's provider for Pinot gives them. ``extra`` may have a ``token`` in place
of login and password, the ``database``, and the ``ca_file`` of an authority. No message holds a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.airflow.connection_fields import ConnectionFields

_SAMPLE = ("localhost", "9000", "/query")
"""Host, port and endpoint of the sample that Airflow may have put there: no broker listens so."""


def controller_variables(conn_type: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of the connection to a controller."""
    return _variables("STARSKIP_PINOT_CONTROLLER", "STARSKIP_PINOT_", ConnectionFields(conn_type, given))


def broker_variables(conn_type: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of the connection to a broker, none of Airflow's own sample."""
    if tuple(str(given.get(each) or "") for each in ("host", "port", "endpoint")) == _SAMPLE:
        return {}
    return _variables("STARSKIP_PINOT_BROKER", "STARSKIP_PINOT_BROKER_", ConnectionFields(conn_type, given))


def _variables(url: str, credentials: str, fields: ConnectionFields) -> dict[str, str]:
    user, token = fields.pair("login", "password"), fields.text("token")
    if user and token:
        raise ValueError("it has a token beside login and password")
    variables = {
        url: _url(fields),
        **dict(zip((f"{credentials}USER", f"{credentials}PASSWORD"), user, strict=False)),
        f"{credentials}TOKEN": token,
        "STARSKIP_PINOT_DATABASE": fields.text("database"),
        "STARSKIP_PINOT_CA_FILE": fields.text("ca_file"),
    }
    fields.ignore("endpoint", "use_multistage_engine", "cmd_path", "pinot_admin_system_exit")
    fields.require_all_read()
    return {name: value for name, value in variables.items() if value}


def _url(fields: ConnectionFields) -> str:
    host, port, scheme = fields.text("host"), fields.text("port"), fields.text("schema") or "http"
    if not host:
        raise ValueError("it has no host")
    if scheme not in ("http", "https"):
        raise ValueError("its schema is neither http nor https")
    place = host if "://" in host else f"{scheme}://{host}"
    return f"{place}:{port}" if port else place
