"""Connections from a secrets backend, in a process of its own, since Airflow reads its settings once."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starskip.airflow.airflow_environment import airflow_environment

pytestmark = [pytest.mark.dags, pytest.mark.slow]

CHECKOUT = Path(__file__).parents[2]
KEYS = {"pii": base64.b64encode(b"p" * 32).decode()}
SECRETS = ("writer-SECRET", KEYS["pii"])
SCRIPT = """
import json, logging
from starskip.airflow.connections import Connections
from airflow.sdk import BaseHook
from airflow.sdk.log import redact
found = {}
Connections().use(found)
logging.getLogger("airflow.task").warning("found %s", redact(found))
print(BaseHook.get_connection("spark_default").host)
print(found == {**found, "AWS_ACCESS_KEY_ID": "writer-key", "AWS_SECRET_ACCESS_KEY": "writer-" + "SECRET"})
print(sorted(found))
"""


@pytest.mark.parametrize("section", ["SECRETS__BACKEND", "WORKERS__SECRETS_BACKEND"])
def test_connections_of_a_secrets_backend_are_used_and_their_secrets_stay_out_of_logs(
    section: str, tmp_path: Path
) -> None:
    connections = tmp_path / "connections.json"
    of_store = {
        "conn_type": "aws",
        "login": "writer-key",
        "password": SECRETS[0],
        "extra": {"region_name": "a"},
    }
    of_keys = {"conn_type": "generic", "password": json.dumps(KEYS)}
    of_spark = {"conn_type": "spark", "host": "spark://spark-master", "port": 7077}
    given = {"starskip_store": of_store, "starskip_keys": of_keys, "spark_default": of_spark}
    connections.write_text(json.dumps(given))
    environment = airflow_environment(CHECKOUT, os.environ, home=tmp_path / "home")
    environment = {
        **{name: value for name, value in environment.items() if not name.startswith("AIRFLOW_CONN_")},
        f"AIRFLOW__{section}": "airflow.secrets.local_filesystem.LocalFilesystemBackend",
        f"AIRFLOW__{section}_KWARGS": json.dumps({"connections_file_path": str(connections)}),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    *_, host, is_found, names = done.stdout.splitlines()
    assert (host, is_found) == ("spark://spark-master", "True")
    assert names == str(["AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "STARSKIP_KEYS"])
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
