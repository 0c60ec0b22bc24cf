"""Pass the keys of encrypted metadata from an Airflow connection to a task and its Spark job.

The password of the connection ``starskip_keys``, of any type, is a JSON object of keys as base64 by their
names. Airflow masks it in logs. Tasks take the keys into their process, like the keys of a store.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from starskip.errors import ConfigError

KEYS_CONNECTION = "starskip_keys"


def use_keys_connection(environment: MutableMapping[str, str]) -> None:
    """Put the connection's keys into ``environment``; without such a connection nothing happens.

    Raises ConfigError, which quotes nothing of it, for a connection that cannot be read.
    """
    # Parsing the DAG file must not import a task's needs.
    from starskip.storage.encryption.keyring import KEYS, Keyring

    try:
        keys = BaseHook.get_connection(KEYS_CONNECTION).password or ""
        Keyring.from_environment({KEYS: keys})
    except AirflowNotFoundException:
        return
    except (AirflowException, ConfigError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the Airflow connection {KEYS_CONNECTION} cannot be read ({type(error).__name__}): its password "
            "is a JSON object of keys as base64 by their names",
            setting=KEYS_CONNECTION,
        ) from None
    if keys:
        environment[KEYS] = keys
