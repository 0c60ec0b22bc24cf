"""Pass the keys of stores and the way to a live Pinot from Airflow's connections to a task and its Spark job.

Tasks take the keys into their process, which uses the stores next (``airflow dags test`` runs all tasks in
one). The API server must never do so: the keys would stay in it for all its other work.

Fields of a connection to Pinot have the names that Airflow's provider gives them. ``extra`` may have a
``token`` in place of login and password, the ``database``, and the ``ca_file`` of an authority. No message
holds a value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException
from airflow.sdk.log import mask_secret

from starskip.airflow.connection_fields import STANDARD_FIELDS, ConnectionFields
from starskip.airflow.store_variables import replaced_variables, store_variables
from starskip.errors import ConfigError

_STORE = "starskip_store"
_OPENSEARCH = "starskip_opensearch"
_KEYS = "starskip_keys"
_CONTROLLER, _BROKER = "pinot_controller_default", "pinot_broker_default"
_SEE, _SEE_PINOT = "see docs/object-stores.md", "see docs/live-pinot.md"

_SECRET = ("SECRET", "PASSWORD", "TOKEN", "KEY")
"""Parts of the names of variables whose values Airflow must mask in its logs."""


_SAMPLE = ("localhost", "9000", "/query")
"""Host, port and endpoint of the sample that Airflow may have put there: no broker listens so."""


@dataclass(frozen=True, slots=True)
class Connections:
    """Names of the connections of a night; those of these names need not be there."""

    store: str = _STORE
    opensearch: str = _OPENSEARCH
    keys: str = _KEYS

    def use(self, environment: MutableMapping[str, str]) -> None:
        """Put the connections' keys into ``environment``; a connection that is not there changes nothing.

        Raises ConfigError, which names fields and quotes no value, for a connection that cannot be read, and
        for one that is missing under a name that somebody chose.
        """
        _use(self.store, _STORE, store_variables, environment)
        _use(self.opensearch, _OPENSEARCH, _of_opensearch, environment)
        _use(self.keys, _KEYS, _of_keys, environment)


@dataclass(frozen=True, slots=True)
class PinotConnections:
    """Names of the connections to a live Pinot; those of these names need not be there.

    They are apart from those of a night, whose tasks and Spark jobs ask no Pinot.
    """

    controller: str = _CONTROLLER
    broker: str = _BROKER

    def use(self, environment: MutableMapping[str, str]) -> None:
        """Put the ways and credentials into ``environment``; see ``Connections.use``."""
        _use(self.controller, _CONTROLLER, controller_variables, environment, _SEE_PINOT)
        _use(self.broker, _BROKER, broker_variables, environment, _SEE_PINOT)


def _use(
    name: str,
    usual: str,
    variables_of: Callable[[str, Mapping[str, Any]], Mapping[str, str]],
    environment: MutableMapping[str, str],
    see: str = _SEE,
) -> None:
    try:
        connection = BaseHook.get_connection(name)
        extra = dict(json.loads(connection.extra or "{}"))
    except AirflowNotFoundException:
        # Airflow takes a variable that it cannot read for none at all.
        if name == usual and f"AIRFLOW_CONN_{name.upper()}" not in os.environ:
            return
        raise ConfigError(
            f"the Airflow connection {name} is missing or cannot be read", setting=name
        ) from None
    except (AirflowException, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the Airflow connection {name} cannot be read ({type(error).__name__}); {see}", setting=name
        ) from None
    fields = {field: getattr(connection, field) for field in STANDARD_FIELDS}
    # Airflow's provider for Pinot has a schema in the extra.
    standard = {field: value for field, value in fields.items() if value or field not in extra}
    try:
        given = variables_of(connection.conn_type or "", {**extra, **standard})
    except ValueError as error:
        raise ConfigError(f"the Airflow connection {name}: {error}; {see}", setting=name) from None
    for variable in replaced_variables(given):
        environment.pop(variable, None)
    for variable, value in given.items():
        if any(part in variable for part in _SECRET):
            mask_secret(value)
    environment.update(given)


def _of_opensearch(conn_type: str, given: Mapping[str, Any]) -> Mapping[str, str]:
    fields = ConnectionFields(conn_type, given)
    user = fields.pair("login", "password")
    variables = dict(zip(("STARSKIP_OPENSEARCH_USER", "STARSKIP_OPENSEARCH_PASSWORD"), user, strict=False))
    if ca_file := fields.text("ca_file"):
        variables["STARSKIP_OPENSEARCH_CA_FILE"] = ca_file
    # Where it is stands in the night's configuration.
    fields.ignore("host", "port", "schema")
    fields.require_all_read()
    return variables


def _of_keys(conn_type: str, given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the keys of encrypted metadata: the password is a JSON object of their base64 by name."""
    # Parsing the DAG file must not import a task's needs.
    from starskip.storage.encryption.keyring import KEYS, Keyring

    keys = ConnectionFields(conn_type, given).text("password")
    try:
        Keyring.from_environment({KEYS: keys})
    except ConfigError:
        raise ValueError("its password is no JSON object of keys as base64 by their names") from None
    if not keys:
        return {}
    mask_secret(list(json.loads(keys).values()))
    return {KEYS: keys}


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
