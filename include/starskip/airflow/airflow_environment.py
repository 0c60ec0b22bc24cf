"""Build the environment variables of the checkout's own Airflow: its home, its database, its ports.

Run as a module it prints what a shell has to export and to unset, for Airflow commands by hand:
``eval "$(.venv/bin/python -m starskip.airflow.airflow_environment)"``.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import click

_LOCAL_SPARK = json.dumps({"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}})
"""As JSON, since a URI with brackets in it is silently taken for YARN."""

# An Airflow or Spark that the caller has set up for other work must neither be used nor changed. A person
# gives a connection, a variable, a database and the night's own settings on purpose.
_OTHERS = ("AIRFLOW_", "SPARK_HOME", "PYSPARK_", "PYTHONPATH")
_SPARK = "AIRFLOW_CONN_SPARK_DEFAULT"
_DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_DATABASES = (_DATABASE, f"{_DATABASE}_CMD", f"{_DATABASE}_SECRET")
_DATABASE_ARGUMENTS = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS"
_FILE_ARGUMENTS = "starskip.airflow.sqlite_connection.CONNECT_ARGS"
# A database is useless without the key to its encrypted fields, and the backend that knows its secret.
_WITH_DATABASE = ("AIRFLOW__CORE__FERNET_KEY", "AIRFLOW__SECRETS__")
_GIVEN = ("AIRFLOW_CONN_", "AIRFLOW_VAR_", "PYSPARK_PYTHON")


def airflow_environment(
    checkout: Path, caller: Mapping[str, str], *, home: Path | None = None, port: int = 8080
) -> dict[str, str]:
    """Return the whole environment of an Airflow process of ``checkout``.

    ``home`` holds its database and logs, by default ``.airflow`` in the checkout; ``port``: of the web page,
    which listens on this machine only. The caller may give another database by
    ``AIRFLOW__DATABASE__SQL_ALCHEMY_CONN`` (or its ``_CMD`` or ``_SECRET``), together with its Fernet key and
    secrets backend, unless ``AIRFLOW_HOME`` says that the database belongs to another Airflow.
    """
    home = home or checkout / ".airflow"
    address = f"http://127.0.0.1:{port}"
    passwords = {"USERS": "admin:admin", "PASSWORDS_FILE": str(home / "passwords.json")}
    kept = {name: v for name, v in caller.items() if not name.startswith(_OTHERS) or name.startswith(_GIVEN)}
    is_ours = caller.get("AIRFLOW_HOME", str(home)) == str(home)
    if is_ours and any(caller.get(name) for name in _DATABASES):
        kept |= {n: v for n, v in caller.items() if n.startswith(_WITH_DATABASE) or (v and n in _DATABASES)}
    else:
        kept[_DATABASE] = _file_database(home)
        # All processes that share the file have to wait for each other in the same way.
        kept |= {f"{_DATABASE_ARGUMENTS}{mode}": _FILE_ARGUMENTS for mode in ("", "_ASYNC")}
    if _SPARK not in kept:
        # A machine need not know its own name for a local Spark; a cluster has to find the driver by it.
        kept = {"SPARK_LOCAL_IP": "127.0.0.1", **kept, _SPARK: _LOCAL_SPARK}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), caller.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(checkout / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(checkout / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": address,
        # Without it tasks would look for the API on its default port, whatever the port is.
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__API__WORKERS": "1",
        # Airflow's own numbers for the usual port; other numbers for other ports, so that two pages do not
        # collide.
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(port + 713),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(port + 714),
        **{f"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_{name}": value for name, value in passwords.items()},
    }


def has_file_database(environment: Mapping[str, str], home: Path) -> bool:
    """Return whether Airflow's database is the file in its home, not a database that the caller has given."""
    return environment.get(_DATABASE) == _file_database(home)


def _file_database(home: Path) -> str:
    return f"sqlite:///{home / 'airflow.db'}"


def shell_commands(caller: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return shell commands that turn the ``caller``'s environment into ``wanted``: only differences."""
    unset = [f"unset {name}" for name in caller if name not in wanted]
    return unset + [
        f"export {name}={shlex.quote(value)}" for name, value in wanted.items() if caller.get(name) != value
    ]


def private_home(home: Path) -> Path:
    """Create ``home`` and its ``logs`` for this user alone; return the latter.

    It holds passwords, the key that sessions are signed with, and logs. From now on other users cannot read
    files that this process and its children write elsewhere, such as artefacts, which hold queries with their
    literals. The rights of the group stay as the caller's mask sets them.
    """
    os.umask(os.umask(0o077) | 0o007)
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    return logs


if __name__ == "__main__":
    for command in shell_commands(os.environ, airflow_environment(Path.cwd(), os.environ)):
        click.echo(command)
