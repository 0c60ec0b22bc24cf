"""Runs that a person asks for in a browser, by a real scheduler: three of them have stages on real Spark."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from browser_visit import Visit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ui,
    pytest.mark.dags,
    pytest.mark.spark,
    pytest.mark.timeout(14_400),
    pytest.mark.filterwarnings("default"),
]

DAG = "index_advisor_nightly"
PAGES = f"/starskip/dags/{DAG}"
NIGHT, TABLE = "2026-11-20", "airlineStats"
UNLOGGED, LOGGED = ("2026-11-16", "2026-11-17"), "2026-11-18"
RUN_S = 3_600
"""For a shared machine; no time is asserted."""


@pytest.fixture
def tab(scheduled: Any, tmp_path: Path) -> Iterator[Visit]:
    """A tab of a person who has logged in where runs are begun."""
    page, logged_in = scheduled
    visit = Visit(logged_in.new_page(), page.address, tmp_path)
    visit.tab.set_viewport_size({"width": 1440, "height": 1400})
    visit.watch()
    yield visit
    visit.shoot("last")
    visit.tab.close()


def trigger(visit: Visit, max_indexes: str = "") -> str:
    """Ask for a run of the one table and night by the form; return the id of the run."""
    before = {each["dag_run_id"] for each in runs(visit)}
    visit.go(f"/dags/{DAG}")
    visit.tab.get_by_role("button", name="Trigger Dag").click()
    visit.tab.get_by_text(f"Trigger Dag - {DAG}").wait_for()
    visit.tab.locator('[id="element_run_date"]').fill(NIGHT)
    visit.tab.locator('[id="element_tables"]').fill(TABLE)
    if max_indexes:
        visit.tab.locator('[id="element_advice.max_indexes"] input').first.focus()
        visit.tab.keyboard.type(max_indexes)
        visit.tab.keyboard.press("Enter")
    visit.shoot("form")
    visit.tab.get_by_role("dialog").get_by_role("button", name="Trigger").click()
    (run_id,) = wait_for(lambda: {each["dag_run_id"] for each in runs(visit)} - before)
    return str(run_id)


def runs(visit: Visit) -> list[dict[str, Any]]:
    answer = visit.tab.request.get(f"{visit.address}/api/v2/dags/{DAG}/dagRuns?limit=50")
    found: list[dict[str, Any]] = answer.json()["dag_runs"]
    return found


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + RUN_S
    while not (result := found()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(1)
    return result


def watch(visit: Visit, run_id: str) -> Any:
    """Watch the tab of a run, which loads itself anew, until the run is over; return its frame."""
    visit.go(f"/dags/{DAG}/runs/{quote(run_id, safe='')}")
    visit.tab.get_by_role("link", name="Index advice", exact=True).click()
    pages = visit.frame("Index advice")
    pages.get_by_role("heading", name=re.compile("^Night of ")).wait_for()
    pages.get_by_text("This run is running.").wait_for(timeout=1000 * RUN_S)
    pages.get_by_text("▶ running").first.wait_for(timeout=1000 * RUN_S)
    visit.shoot("running")
    pages.get_by_text(re.compile("^✓ This run is done|^✗ This run failed")).wait_for(timeout=1000 * RUN_S)
    return pages


@pytest.fixture(scope="module")
def advised(scheduled: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of one table, asked for by the form and watched until it is over; its id."""
    page, logged_in = scheduled
    visit = Visit(logged_in.new_page(), page.address, tmp_path_factory.mktemp("advised"))
    visit.watch()
    wait_for(lambda: visit.tab.request.get(f"{visit.address}/api/v2/dags/{DAG}").ok)
    run_id = trigger(visit)
    pages = watch(visit, run_id)
    assert pages.get_by_text("✓ This run is done").count() == 1
    pages.get_by_role("heading", name=f"Night of {NIGHT}, {TABLE}").wait_for()
    assert pages.locator("table.stages .task").filter(has_text="✗").count() == 0
    assert visit.is_clean()
    visit.tab.close()
    return run_id


def test_from_the_task_of_a_run_to_its_report(tab: Visit, advised: str) -> None:
    tab.go(f"/dags/{DAG}/runs/{quote(advised, safe='')}/tasks/write_report/mapped/0/details")
    tab.tab.get_by_role("link", name="Index advice of this night").click()
    pages = tab.frame("Index advice")
    pages.get_by_role("link", name=TABLE).first.click()
    pages.get_by_role("heading", name="What to do").wait_for()
    pages.get_by_role("link", name="Which queries gain").click()
    pages.frame_locator("iframe").get_by_text(f"night of {NIGHT}").wait_for()
    assert tab.is_clean()


def test_an_experiment_stays_one(tab: Visit, advised: str, scheduled: Any) -> None:
    store = scheduled[0].house.store
    before = store.snapshot("reports", NIGHT).manifest
    run_id = trigger(tab, max_indexes="3")
    pages = watch(tab, run_id)
    assert pages.get_by_text("✓ This run is done").count() == 1
    pages.get_by_role("row", name="advice.max_indexes 3").wait_for()
    pages.get_by_role("link", name=TABLE).first.click()
    pages.get_by_role("heading", name="What to do").wait_for()
    banner = pages.locator(".experiment")
    assert f"Experiment of run {run_id}: advice.max_indexes = 3" in banner.inner_text()
    assert pages.get_by_role("button", name=re.compile("^Approve")).count() == 0
    tab.shoot("experiment")

    assert store.snapshot("reports", NIGHT).manifest == before
    banner.get_by_role("link", name="The night's advice").click()
    pages.get_by_text("1 experiment beside this night's advice").wait_for()
    pages.get_by_role("link", name=TABLE).first.click()
    pages.get_by_role("heading", name="What to do").wait_for()
    assert pages.locator(".alarm.experiment").count() == 0
    assert pages.get_by_role("button", name=re.compile("^Approve")).count() >= 1
    assert tab.is_clean()


def test_days_of_a_backfill_and_one_day_alone(tab: Visit, advised: str, scheduled: Any) -> None:
    from starskip.airflow.airflow_environment import airflow_environment

    page, _ = scheduled
    first, last = UNLOGGED[0], LOGGED
    tab.go(f"{PAGES}/calendar?first={first}&last={last}")
    command = tab.tab.locator("pre.copy").inner_text().replace("\\\n", " ").split()
    assert command[:5] == ["airflow", "backfill", "create", "--dag-id", DAG]
    house = page.house
    environment = airflow_environment(Path.cwd(), house.environment, home=house.home, port=page.port)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3_000:]
    of_backfill = wait_for(lambda: [each for each in runs(tab) if each["run_type"] == "backfill"])
    assert len(of_backfill) == 3
    seen = set()

    def states() -> list[str]:
        tab.tab.reload()
        found = [day_state(tab, day) for day in (*UNLOGGED, LOGGED)]
        seen.update(found)
        return found

    wait_for(lambda: states() == ["no log", "no log", "reported"])
    assert {"running", "queued"} & seen
    tab.shoot("calendar")
    assert f"no log of {first}" in tab.tab.locator("table.by-day").inner_text()

    # One day again, alone.
    before = len(runs(tab))
    tab.tab.get_by_role("link", name=re.compile("^16.*November: no log$")).click()
    tab.tab.get_by_role("button", name=f"Run {first} again").click()
    tab.tab.get_by_role("heading", name=f"Night of {first}, all tables").wait_for()
    tab.tab.get_by_text("✗ This run failed:").wait_for(timeout=1000 * RUN_S)
    tab.tab.get_by_text(f"no log of {first}").first.wait_for()
    assert len(runs(tab)) == before + 1
    tab.go(f"{PAGES}/calendar?first={first}&last={last}")
    assert [day_state(tab, day) for day in (*UNLOGGED, LOGGED)] == ["no log", "no log", "reported"]
    assert tab.is_clean()


def day_state(visit: Visit, day: str) -> str:
    """Return the state of a day in the calendar."""
    words = visit.tab.get_by_role("link", name=re.compile(f"^{int(day[-2:])}[^0-9].*November: ")).inner_text()
    return str(words).rpartition(": ")[2].strip()
