"""Airflow's own commands in a fresh checkout, right after ``make setup``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from starskip.airflow.airflow_environment import airflow_environment

pytestmark = [pytest.mark.dags, pytest.mark.slow]

CHECKOUT = Path(__file__).parents[2]
DAG = "index_advisor_nightly"
BACKFILL = (
    *("--dag-id", DAG, "--from-date", "2026-11-18", "--to-date", "2026-11-20T23:59:59"),
    *("--max-active-runs", "1", "--reprocess-behavior", "failed"),
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a folder with the checkout's DAG in it, and a home that was just made."""
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "dags").symlink_to(CHECKOUT / "dags")
    (checkout / "plugins").symlink_to(CHECKOUT / "plugins")
    command = [sys.executable, "-m", "starskip.airflow.airflow_database"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return airflow_environment(checkout, os.environ)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["dags", "list"], DAG),
        (["connections", "list"], "No data found"),
        (["pools", "get", "index_advisor_apply", "--output", "json"], '"slots": "1"'),
        (["dags", "trigger", DAG, "--conf", '{"run_date": "2026-11-20", "tables": ["lineitem"]}'], "queued"),
        (["dags", "unpause", DAG, "--yes"], "is_paused"),
        (["backfill", "create", *BACKFILL], ""),
    ],
    ids=["list", "connections", "pool", "trigger", "unpause", "backfill"],
)
def test_a_command_as_the_docs_write_it(
    environment: Mapping[str, str], command: list[str], says: str
) -> None:
    done = subprocess.run(["airflow", *command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert says in done.stdout
