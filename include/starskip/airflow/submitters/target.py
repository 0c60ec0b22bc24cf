"""Read where a job is submitted: the fields of an Airflow connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from starskip.errors import ConfigError, printable


@dataclass(frozen=True, slots=True)
class Target:
    """An Airflow connection, and the task that submits by it."""

    connection: str
    type: str
    host: str
    port: int | None
    extra: Mapping[str, Any]
    task_id: str

    def required(self, name: str, example: str) -> str:
        """Return a text of the extra; raise ConfigError, with the example, if it is not there."""
        found = self.extra.get(name)
        if not isinstance(found, str) or not found.strip():
            raise self._missing(name, "a text", f'"{example}"')
        return found.strip()

    def required_object(self, name: str, example: str) -> dict[str, Any]:
        """Return an object of the extra; raise ConfigError, with the example, if it is not there."""
        found = self.extra.get(name)
        if not isinstance(found, Mapping) or not found:
            raise self._missing(name, "an object", example)
        return dict(found)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of the extra, which may stand in one text, separated by commas."""
        found = self.extra.get(name, "")
        texts = found.split(",") if isinstance(found, str) else found
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise self._missing(name, "a list of texts", '["s3://bucket/starskip.zip"]')
        return tuple(text.strip() for text in texts if text.strip())

    def _missing(self, name: str, kind: str, example: str) -> ConfigError:
        return ConfigError(
            f"the Airflow connection {self.connection}, of type {self.type}, needs {kind} {name} in its "
            f'extra, such as {{"{name}": {example}}}',
            setting=name,
        )


def target_of(connection: str, task_id: str) -> Target:
    """Return where ``connection`` leads; raise ConfigError if it cannot be read."""
    variable = f"AIRFLOW_CONN_{connection.upper()}"
    example = f"""{variable}='{{"conn_type": "spark", "host": "local[2]"}}'"""
    try:
        found = BaseHook.get_connection(connection)
        return Target(
            connection, str(found.conn_type), str(found.host or ""), found.port, found.extra_dejson, task_id
        )
    except AirflowNotFoundException:
        # Airflow takes a variable that it cannot read, such as spark://local[2], for none at all.
        reason = "is missing or cannot be read"
    except (AirflowException, ValueError) as error:
        reason = f"cannot be read ({printable(str(error), 200)})"
    raise ConfigError(
        f"the Airflow connection {connection} {reason}: give it as JSON, {example}", setting=variable
    )
