"""Pass the keys of an object store from an Airflow connection to a task and its Spark job.

The connection ``starskip_store`` is of the type that Airflow's own AWS provider has: login and password are
the two keys, the extra holds ``endpoint_url``, ``region_name`` and ``aws_session_token``. Airflow masks its
password in logs. Tasks take its keys into their process, which uses the store next (``airflow dags test``
runs them all in one). The API server must never: the keys would stay in it for all else that it does.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from starskip.errors import ConfigError

STORE_CONNECTION = "starskip_store"
_EXTRAS = {
    "endpoint_url": "AWS_ENDPOINT_URL",
    "region_name": "AWS_REGION",
    "aws_session_token": "AWS_SESSION_TOKEN",
}


def use_store_connection(environment: MutableMapping[str, str]) -> None:
    """Put the connection's keys into ``environment``; without such a connection nothing happens.

    Raises ConfigError, which quotes nothing of it, for one that is there and cannot be read.
    """
    try:
        connection = BaseHook.get_connection(STORE_CONNECTION)
        environment.update(store_environment(connection))
    except AirflowNotFoundException:
        return
    except (AirflowException, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the Airflow connection {STORE_CONNECTION} cannot be read ({type(error).__name__}): give it as "
            'JSON, such as {"conn_type": "aws", "login": "KEY ID", "password": "SECRET KEY", "extra": {}}',
            setting=STORE_CONNECTION,
        ) from None


def store_environment(connection: Any) -> dict[str, str]:
    """Return the variables that a connection stands for, only those that it gives."""
    extra = connection.extra_dejson
    given = {
        "AWS_ACCESS_KEY_ID": connection.login,
        "AWS_SECRET_ACCESS_KEY": connection.password,
        **{variable: extra.get(name) for name, variable in _EXTRAS.items()},
    }
    return {variable: str(value) for variable, value in given.items() if value}
