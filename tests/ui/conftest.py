"""A night in a house of its own, Airflow's page over it as ``make ui`` starts it, and a browser before it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from browser_visit import Visit
from free_ports import free_port
from published_parts import report_part
from report_cases import lineitem
from starskip.reports.evidence import Evidence
from starskip.reports.report_files import report_files
from starskip.reports.report_summary import ReportSummary, report_summary
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

CHECKOUT = Path(__file__).parents[2]
NIGHT = "2026-11-20"
DAG = "index_advisor_nightly"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Airflow's scripts are long and run once a page: tabs share what is compiled, and nothing is optimised.
    "--renderer-process-limit=1",
    "--js-flags=--no-opt --no-maglev",
]
START_SECONDS = 300
TIMEOUT_MS = 60_000
"""For a shared machine; no time is asserted."""

HOSTILE_TABLE = "<script>alert('table')</script>/../orders"
HOSTILE_SQL = (
    "SELECT 1 FROM t WHERE </code></td><script>top.hacked = 1; alert(2)</script>"
    "<img src=x onerror=alert(3)><iframe src=javascript:alert(4)></iframe> = ?"
)


@dataclass
class House:
    """A checkout's night with everything of its own; ``run_id`` is that of a run that Airflow knows."""

    folder: Path
    run_id: str = ""

    @property
    def home(self) -> Path:
        return self.folder / "airflow"

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(storage_for(str(self.folder / "artefacts")))

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "STARSKIP_CONFIG": str(self.folder / "night.yaml")}

    def publish(
        self, night: str, table: str, files: Mapping[str, bytes], summary: ReportSummary | None = None
    ) -> None:
        aside = self.store.staged_write("reports", night)
        part = report_part(aside, table, files, summary)
        now = datetime.now(UTC)
        self.store.publish("reports", night, {table: part}, replace="tables", created_at=now, created_by="t")

    def start_ui(self, port: int, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Start the page where it cannot be started."""
        command = [sys.executable, "-m", "starskip.airflow.airflow_ui", "--port", str(port)]
        place = ["--home", str(home or self.home)]
        return subprocess.run(
            [*command, *place],
            cwd=CHECKOUT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def processes(self) -> list[int]:
        """The processes that live in this house, whoever started them."""
        mark = f"AIRFLOW_HOME={self.home}\0".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                found += [int(each.parent.name)] if mark in each.read_bytes() else []
        return found


@dataclass
class Page:
    """Airflow's page as a person has started it: where it is and how to log in."""

    address: str
    password: str
    process: subprocess.Popen[str]
    house: House
    said: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def stop(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=90)


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A night of the sample by the command line, two made-up ones, and a run of the DAG for the first."""
    house = House(tmp_path_factory.mktemp("house"))
    sample = CHECKOUT / "include" / "sample"
    (house.folder / "night.yaml").write_text(
        "store: {artefacts: artefacts}\n"
        f"sources: {{log_paths: [{sample}/logs], segments_root: {sample}/segments,\n"
        f"  table_configs: [{sample}/config/lineitem_table.json]}}\n"
        # The pages show whatever there is: half a minute less.
        "settings: {scoring: {window_rows_per_table: 2048, max_simulations_per_table: 300}}\n"
    )
    stages = ["stage", "all", "--config", str(house.folder / "night.yaml"), "--run-date", NIGHT]
    run([str(Path(sys.executable).with_name("starskip")), *stages], house.environment)
    case = lineitem()
    earlier = replace(case, run_date=date(2026, 11, 19))
    house.publish("2026-11-19", "lineitem", report_files(earlier), report_summary(earlier))
    odd = hostile(case)
    house.publish("2026-11-18", HOSTILE_TABLE, report_files(odd), report_summary(odd))
    house.run_id = a_run_of_the_dag(house)
    return house


@pytest.fixture(scope="session")
def page(house: House, chromium: str) -> Iterator[Page]:
    """Airflow with the pages, on a free port of this machine; the browser is asked for first."""
    del chromium
    with running_page(house) as page:
        yield page


@contextmanager
def running_page(house: House) -> Iterator[Page]:
    """Airflow over a house, started and ended as ``make ui`` does."""
    port = free_port(beside=(713, 714))
    command = ["-m", "starskip.airflow.airflow_ui", "--port", str(port), "--home", str(house.home)]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=CHECKOUT, env=house.environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        assert said[1].startswith(f"http://127.0.0.1:{port}  user admin, password in "), said
        password = json.loads((house.home / "passwords.json").read_text())["admin"]
        wait_until_healthy(f"127.0.0.1:{port}")
        yield Page(f"http://127.0.0.1:{port}", password, process, house, said)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=90)
        if process.stdout:
            process.stdout.close()


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("Chromium is missing: sudo apt-get install chromium", pytrace=False)
    return str(found)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def logged_in(page: Page, browser: Any) -> Iterator[Any]:
    """The browser of a person who has logged in through the form, without a tab."""
    with context_of(page, browser) as context:
        yield context


@pytest.fixture(scope="module")
def scheduled(
    chromium: str, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Page, Any]]:
    """A house where nothing was run yet, and the browser of a person who has logged in there.

    One small table, its log of two days; nothing is run by the schedule, which would add the night of
    whatever day it is.
    """
    from starskip.airflow.airflow_database import migrate_database
    from starskip.airflow.airflow_environment import airflow_environment

    del chromium
    house, sample = House(tmp_path_factory.mktemp("scheduled")), CHECKOUT / "include" / "sample"
    logs = house.folder / "logs"
    logs.mkdir()
    for run_date in ("2026-11-18", NIGHT):
        (logs / f"broker-{run_date}.log.gz").symlink_to(sample / "logs" / f"broker-{run_date}.log.gz")
    (house.folder / "night.yaml").write_text(
        f"store: {{artefacts: artefacts}}\ntables: [airlineStats]\n"
        f"sources: {{log_paths: [logs], segments_root: {sample}/segments,\n"
        f"  table_configs: [{sample}/config/airlineStats_table.json]}}\n"
        "settings: {scoring: {window_rows_per_table: 2048, max_simulations_per_table: 300}}\n"
    )
    (house.home / "logs").mkdir(parents=True)
    environment = airflow_environment(CHECKOUT, house.environment, home=house.home)
    migrate_database(house.home, environment, house.home / "logs" / "migrate.log")
    config = house.home / "airflow.cfg"
    scheduled, unscheduled = (f"\nuse_job_schedule = {each}\n" for each in (True, False))
    words = config.read_text()
    assert scheduled in words
    config.write_text(words.replace(scheduled, unscheduled))
    with running_page(house) as page, context_of(page, browser) as context:
        yield page, context


@contextmanager
def context_of(page: Page, browser: Any) -> Iterator[Any]:
    """The browser of a person who logs in through the form."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(TIMEOUT_MS)
        tab = context.new_page()
        tab.goto(f"{page.address}/")
        tab.fill("input[name=username]", "admin")
        tab.fill("input[name=password]", page.password)
        tab.click("button[type=submit]")
        tab.wait_for_url(f"{page.address}/")
        tab.get_by_role("link", name="Starskip").wait_for()
        tab.close()
        yield context


@pytest.fixture
def visit(page: Page, logged_in: Any, tmp_path: Path) -> Iterator[Visit]:
    """A tab of a person who has logged in."""
    visit = Visit(logged_in.new_page(), page.address, tmp_path)
    visit.watch()
    yield visit
    visit.shoot("last")
    visit.tab.close()


def hostile(case: Evidence) -> Evidence:
    shape = replace(case.shapes.top[0], masked_text=HOSTILE_SQL, columns=(HOSTILE_TABLE,))
    return replace(
        case,
        table=HOSTILE_TABLE,
        shapes=replace(case.shapes, top=(shape,)),
        chosen=(replace(case.chosen[0], columns=(HOSTILE_SQL,)),),
    )


def a_run_of_the_dag(house: House) -> str:
    """Run the DAG by Airflow's own ``dags test``; only the grouping and write_report run.

    The artefacts are there already; what is wanted is a run, and what a task that ran leaves behind.
    """
    from starskip.airflow.airflow_environment import airflow_environment
    from starskip.airflow.nightly_run import migrate_database

    (house.home / "logs").mkdir(parents=True)
    environment = airflow_environment(CHECKOUT, house.environment, home=house.home)
    migrate_database(house.home, environment, house.home / "logs" / "migrate.log")
    others = "(?!group_tables|write_report).*"
    only = ["--mark-success-pattern", others, "--conf", json.dumps({"run_date": NIGHT})]
    run(["airflow", "dags", "test", DAG, "2026-11-21", *only], environment)
    with sqlite3.connect(house.home / "airflow.db") as database:
        ((run_id, state),) = database.execute("select run_id, state from dag_run").fetchall()
    database.close()
    assert state == "success"
    return str(run_id)


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout[-5_000:]


def wait_until_healthy(place: str) -> None:
    from http.client import HTTPConnection, HTTPException

    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = HTTPConnection(place, timeout=30)
        with suppress(OSError, HTTPException):
            connection.request("GET", "/api/v2/version")
            if connection.getresponse().status == 200:
                return
        connection.close()
        time.sleep(0.5)
    raise AssertionError("Airflow's page did not answer")
