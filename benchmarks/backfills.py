"""Create backfills beside ``make ui`` on its SQLite file, and count what goes wrong.

A few DAGs take turns, since Airflow allows one backfill of a DAG at a time. Counted are commands that fail,
backfills without all of their days, mentions of a locked database in any log, and parts of Airflow that died.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import click
from starskip.airflow.airflow_environment import airflow_environment

DAGS = 6
DAYS = 4
START_SECONDS = 300
FINISH_SECONDS = 900
DAG_FILE = """
from datetime import datetime
from airflow.sdk import DAG, task

for n in range({dags}):
    with DAG(f"light_{{n}}", schedule="0 2 * * *", start_date=datetime(2026, 1, 1), catchup=False,
             is_paused_upon_creation=False, max_active_runs=2):
        @task(task_id="first")
        def first():
            return 1

        @task(task_id="second")
        def second(value):
            return value

        second(first())
"""


@click.command()
@click.option("--tries", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--port", default=18480, show_default=True)
def backfills(tries: int, port: int) -> None:
    """Run ``make ui`` in a folder of its own, and create TRIES backfills beside it."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        (checkout / "dags").mkdir()
        (checkout / "plugins").mkdir()
        (checkout / "dags" / "light_dag.py").write_text(DAG_FILE.format(dags=DAGS))
        command = [sys.executable, "-m", "starskip.airflow.airflow_ui", "--port", str(port)]
        with (checkout / "said").open("w") as said:
            page = subprocess.Popen(command, cwd=checkout, stdout=said, stderr=subprocess.STDOUT)
        try:
            environment = airflow_environment(checkout, os.environ, port=port)
            _wait_for_dags(checkout, port)
            started = time.monotonic()
            failed, locked, outputs = _create_all(tries, checkout, environment)
            seconds = time.monotonic() - started
            unfinished = _wait_for_runs(checkout)
            half_made = _half_made(checkout)
        finally:
            page.send_signal(signal.SIGTERM)
            page.wait(timeout=120)
        logs = [*(checkout / ".airflow" / "logs").rglob("*.log"), checkout / "said"]
        in_logs = sum(each.read_text(errors="replace").count("database is locked") for each in logs)
        restarts = (checkout / "said").read_text().count("is started again")
        click.echo(outputs)
        click.echo(
            f"{tries} backfills of {DAYS} days in {seconds:.0f} s beside make ui: {failed} commands failed, "
            f"{locked} said that the database is locked, and so did {in_logs} lines of logs; {half_made} "
            f"backfills were half made, {restarts} parts died, {unfinished} runs did not succeed"
        )
        if failed or locked or in_logs or half_made or restarts or unfinished:
            raise SystemExit(1)


def _rows(checkout: Path, query: str) -> list[Any]:
    with sqlite3.connect(checkout / ".airflow" / "airflow.db", timeout=60) as database:
        found = database.execute(query).fetchall()
    database.close()
    return found


def _wait_for_dags(checkout: Path, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=10) as answer:
                is_up = answer.read().count(b'"healthy"') >= 4
            (count,) = _rows(checkout, "select count(*) from dag where not is_paused")[0]
            if is_up and count == DAGS:
                return
        except (OSError, URLError, sqlite3.Error):
            pass
        time.sleep(1)
    raise click.ClickException(f"Airflow did not start: {(checkout / 'said').read_text()}")


def _create_all(tries: int, checkout: Path, environment: dict[str, str]) -> tuple[int, int, str]:
    """Return how many commands failed, how many named a locked database, and the last words of those."""
    failed = locked = 0
    outputs = ""
    for number in range(tries):
        dag_id = f"light_{number % DAGS}"
        _wait_for_backfill(checkout, dag_id)
        month, day = divmod(number // DAGS * DAYS, 24)
        days = [f"2026-{3 + month:02}-{day + each:02}" for each in (1, DAYS)]
        command = ["airflow", "backfill", "create", "--dag-id", dag_id, "--from-date", days[0]]
        more = ["--to-date", f"{days[1]}T23:59:59", "--max-active-runs", "2"]
        done = subprocess.run(
            [*command, *more], cwd=checkout, env=environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        failed += done.returncode != 0
        locked += "database is locked" in said
        if done.returncode or "locked" in said:
            outputs += f"{dag_id} {days}: {re.sub(chr(10), ' ', said[-300:])}\n"
    return failed, locked, outputs


def _wait_for_backfill(checkout: Path, dag_id: str) -> None:
    deadline = time.monotonic() + FINISH_SECONDS
    query = f"select count(*) from backfill where dag_id = '{dag_id}' and completed_at is null"
    while _rows(checkout, query) != [(0,)] and time.monotonic() < deadline:
        time.sleep(0.5)


def _wait_for_runs(checkout: Path) -> int:
    """Return how many runs have not succeeded in the end."""
    deadline = time.monotonic() + FINISH_SECONDS
    query = "select count(*) from dag_run where run_type = 'backfill' and state != 'success'"
    while (count := _rows(checkout, query)[0][0]) and time.monotonic() < deadline:
        time.sleep(1)
    return int(count)


def _half_made(checkout: Path) -> int:
    """Return how many backfills lack some of their days."""
    days = "left join backfill_dag_run r on r.backfill_id = b.id group by b.id"
    query = f"select count(r.dag_run_id) from backfill b {days}"
    return sum(count != DAYS for (count,) in _rows(checkout, query))


if __name__ == "__main__":
    backfills()
