"""Pass the keys of stores from Airflow connections to a task and its Spark job.

The connection ``starskip_store``, of artefacts and sources, has the type of Airflow's own AWS provider: login
and password are the two keys, the extra holds ``endpoint_url``, ``region_name`` and ``aws_session_token``.
``starskip_opensearch``, of skipping metadata, has login and password, and ``ca_file`` in its extra. Airflow
masks passwords in logs. Tasks take the keys into their process, which uses the stores next (``airflow dags
test`` runs them all in one). The API server must never do so: the keys would stay in it for all its other
work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from starskip.errors import ConfigError

STORE_CONNECTION = "starskip_store"
OPENSEARCH_CONNECTION = "starskip_opensearch"
_OF_STORE = '{"conn_type": "aws", "login": "KEY ID", "password": "SECRET KEY", "extra": {}}'
_OF_OPENSEARCH = '{"conn_type": "http", "login": "USER", "password": "PASSWORD", "extra": {}}'
_EXTRAS = {
    "endpoint_url": "AWS_ENDPOINT_URL",
    "region_name": "AWS_REGION",
    "aws_session_token": "AWS_SESSION_TOKEN",
}


def use_store_connection(environment: MutableMapping[str, str]) -> None:
    """Put the connections' keys into ``environment``; without such a connection nothing happens.

    Raises ConfigError, which quotes nothing of it, for a connection that cannot be read.
    """
    _use(STORE_CONNECTION, store_environment, _OF_STORE, environment)
    _use(OPENSEARCH_CONNECTION, opensearch_environment, _OF_OPENSEARCH, environment)


def _use(
    name: str,
    variables: Callable[[Any], Mapping[str, str]],
    example: str,
    environment: MutableMapping[str, str],
) -> None:
    try:
        environment.update(variables(BaseHook.get_connection(name)))
    except AirflowNotFoundException:
        return
    except (AirflowException, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the Airflow connection {name} cannot be read ({type(error).__name__}): give it as "
            f"JSON, such as {example}",
            setting=name,
        ) from None


def store_environment(connection: Any) -> dict[str, str]:
    """Return the variables of the fields that a connection has."""
    extra = connection.extra_dejson
    given = {
        "AWS_ACCESS_KEY_ID": connection.login,
        "AWS_SECRET_ACCESS_KEY": connection.password,
        **{variable: extra.get(name) for name, variable in _EXTRAS.items()},
    }
    return {variable: str(value) for variable, value in given.items() if value}


def opensearch_environment(connection: Any) -> dict[str, str]:
    """Return the variables of the fields that a connection to OpenSearch has."""
    given = {
        "STARSKIP_OPENSEARCH_USER": connection.login,
        "STARSKIP_OPENSEARCH_PASSWORD": connection.password,
        "STARSKIP_OPENSEARCH_CA_FILE": connection.extra_dejson.get("ca_file"),
    }
    return {variable: str(value) for variable, value in given.items() if value}
