"""The report pages as a person meets them: log in, look, follow the links, in a real browser and Airflow."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from browser_visit import Visit
from free_ports import free_port

pytestmark = [pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]

DAG = "index_advisor_nightly"
NIGHT = "2026-11-20"
WAIT_S = 60
"""For a shared machine; no time is asserted."""

PAPER = "body => getComputedStyle(body).backgroundColor"
TOO_WIDE = (
    "() => [...document.querySelectorAll('body, .scroll')]"
    ".filter(each => each.scrollWidth > each.clientWidth).length"
)


def settled(value: Callable[[], Any], expected: Any) -> bool:
    """Return whether ``value`` becomes ``expected`` within the time that a page has."""
    deadline = time.monotonic() + WAIT_S
    while value() != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    return bool(value() == expected)


def test_the_start_says_where_the_page_is_and_how_to_log_in(page: Any) -> None:
    assert page.said[0].startswith("Starting Airflow; its logs are ")
    passwords = page.house.home / "passwords.json"
    assert page.said[1] == f"{page.address}  user admin, password in {passwords}; Ctrl-C stops it\n"
    assert page.password not in "".join(page.said)
    assert page.house.home.stat().st_mode & 0o077 == 0
    assert page.said[2] == f"{page.address}/plugin/starskip  the reports of all nights\n"


def test_a_second_start_says_in_one_line_that_there_is_one(page: Any, house: Any) -> None:
    for port in (0, 40):
        done = house.start_ui(page.port + port)
        assert done.returncode == 1
        assert done.stderr == (
            f"Error: Airflow runs already in {house.home}: {page.address}, started by process "
            f"{page.process.pid}; stop that one first\n"
        )


def test_a_port_that_is_taken_is_named_in_one_line(house: Any, tmp_path: Path) -> None:
    for beside, words in ((0, ""), (714, ", which Airflow needs beside {port},")):
        port = free_port(beside=(713, 714))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port + beside))
            taken.listen()
            done = house.start_ui(port, home=tmp_path)
        assert done.returncode == 1
        assert done.stderr == (
            f"Error: port {port + beside}{words.format(port=port)} cannot be had (Address already in use): "
            f"choose another one, make ui PORT={port + 10}\n"
        )
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".db"] == []


def test_from_the_navigation_to_a_report_its_files_and_its_history(visit: Visit) -> None:
    visit.go("/")
    visit.tab.get_by_role("link", name="Starskip").click()
    pages = visit.frame("Starskip")
    pages.get_by_role("heading", name="Index advice").wait_for()
    visit.shoot("index")

    pages.get_by_role("link", name="lineitem", exact=True).first.click()
    pages.get_by_role("heading", name="What to do").wait_for()
    assert re.match(r"Add .* to lineitem: its queries scan .* less", pages.locator("h1").inner_text())
    copy = pages.get_by_role("button", name="Copy the reload command")
    copy.click()
    pages.get_by_role("button", name=re.compile("Copied|Selected")).wait_for()
    assert pages.locator("body").evaluate("each => each.ownerDocument.documentElement.scrollHeight") <= 3_000
    visit.shoot("table")

    pages.get_by_role("link", name="Which queries gain").click()
    report = pages.frame_locator("iframe")
    pictures = report.locator("#shapes img")
    pictures.first.wait_for()
    assert all(pictures.nth(i).evaluate("each => each.naturalWidth > 0") for i in range(pictures.count()))
    visit.shoot("report")

    with visit.tab.expect_download() as downloaded:
        pages.get_by_role("link", name="JSON").click()
    assert downloaded.value.suggested_filename == f"lineitem-{NIGHT}-report.json"
    assert json.loads(Path(downloaded.value.path()).read_text())["table"] == "lineitem"

    pages.get_by_role("link", name="lineitem", exact=True).click()
    pages.get_by_role("link", name="history").click()
    pages.get_by_role("heading", name="lineitem over the nights").wait_for()
    assert pages.locator("svg.wide circle").count() == 2
    visit.shoot("history")
    pages.locator("svg.wide a").first.click()
    pages.get_by_text("Advice of an older night").wait_for()
    assert visit.is_clean()


@pytest.mark.slow
def test_a_report_has_an_address_of_its_own_inside_of_airflow(visit: Visit) -> None:
    visit.go(f"/plugin/starskip/starskip/dags/{DAG}/tables/lineitem/2026-11-19/evidence")
    report = visit.frame("Starskip").frame_locator("iframe")
    report.get_by_text("night of 2026-11-19").wait_for()
    assert visit.is_clean()


@pytest.mark.slow
def test_from_the_task_to_the_reports_of_its_night(visit: Visit, house: Any) -> None:
    visit.go(f"/dags/{DAG}/runs/{quote(house.run_id, safe='')}/tasks/write_report/mapped/0/details")
    link = visit.tab.get_by_role("link", name="Index advice of this night")
    link.wait_for()
    visit.shoot("task")
    link.click()
    pages = visit.frame("Index advice")
    pages.get_by_role("heading", name=f"Night of {NIGHT}").wait_for()
    assert pages.get_by_text("alert('table')").count() == 0
    visit.shoot("run")
    pages.get_by_role("link", name="airlineStats").click()
    pages.get_by_role("heading", name="What to do").wait_for()
    assert visit.is_clean()


@pytest.mark.slow
def test_a_run_has_a_tab_with_the_reports_of_its_night(visit: Visit, house: Any) -> None:
    visit.go(f"/dags/{DAG}/runs/{quote(house.run_id, safe='')}")
    visit.tab.get_by_role("link", name="Index advice", exact=True).click()
    pages = visit.frame("Index advice")
    pages.get_by_role("link", name="lineitem", exact=True).click()
    pages.get_by_role("heading", name="What to do").wait_for()
    with visit.tab.expect_download() as downloaded:
        pages.get_by_role("link", name="Markdown").click()
    assert downloaded.value.suggested_filename == f"lineitem-{NIGHT}-report.md"
    assert visit.is_clean()


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["dark", "light"])
def test_pages_and_reports_are_as_light_as_airflow_around_them(visit: Visit, chosen: str) -> None:
    # The system's choice is the other one, and must not win.
    visit.tab.emulate_media(color_scheme="light" if chosen == "dark" else "dark")
    # The lightest page of this origin.
    visit.go("/api/v2/version")
    visit.tab.evaluate("chosen => localStorage.setItem('theme', chosen)", chosen)
    visit.go(f"/plugin/starskip/starskip/dags/{DAG}/tables/lineitem/{NIGHT}/evidence")
    pages = visit.frame("Starskip")
    report = pages.frame_locator("iframe")
    report.get_by_text(f"night of {NIGHT}").wait_for()
    paper = {"dark": "rgb(20, 23, 28)", "light": "rgb(251, 251, 250)"}[chosen]
    for place in (pages, report):
        assert settled(partial(place.locator("body").evaluate, PAPER), paper)
    visit.shoot(f"chosen-{chosen}")
    assert visit.is_clean()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["", f"/starskip/dags/{DAG}/nights/{NIGHT}", f"/starskip/dags/{DAG}/tables/lineitem/history"]
)
def test_lists_fit_a_narrow_window(visit: Visit, path: str) -> None:
    visit.tab.set_viewport_size({"width": 400, "height": 850})
    visit.go(f"/plugin/starskip{path}")
    pages = visit.frame("Starskip")
    saving = pages.locator("td.number b").first
    saving.wait_for()
    box = saving.bounding_box()
    assert box["x"] + box["width"] <= 400
    assert pages.locator("body").evaluate(TOO_WIDE) == 0
    visit.shoot("narrow")


def test_tags_in_names_and_queries_are_text(visit: Visit) -> None:
    visit.go("/plugin/starskip")
    pages = visit.frame("Starskip")
    pages.get_by_role("searchbox", name="Table").fill("<SCRIPT>")
    pages.get_by_role("button", name="Filter").click()
    pages.get_by_text("Show all tables").first.wait_for()
    name = pages.get_by_role("link", name="<script>alert('table')</script>/../orders")
    name.wait_for()
    visit.shoot("hostile-index")
    name.click()
    pages.get_by_role("link", name="Which queries gain").click()
    report = pages.frame_locator("iframe")
    shapes = report.locator("#shapes")
    shapes.get_by_text("<script>top.hacked = ?; alert(?)</script>").first.wait_for()
    visit.shoot("hostile-report")
    pages.get_by_role("link", name="<script>").click()
    pages.get_by_role("link", name="history").click()
    pages.get_by_role("heading", name="over the nights").wait_for()
    assert visit.is_clean()


def test_a_script_that_someone_wrote_into_a_stored_page_does_not_run(visit: Visit, house: Any) -> None:
    snapshot = house.store.snapshot("reports", "2026-11-19")
    files = {f.name.rpartition("/")[2].partition("-")[2]: snapshot.read_file(f)
             for f in snapshot.parts()["lineitem"].files}  # fmt: skip
    attack = b"<script>top.hacked = 1; alert(1)</script><img src=x onerror=alert(2)><p>tampered</p></main>"
    house.publish("2026-11-17", "tampered", {**files, "report.html": attack.join(
        files["report.html"].split(b"</main>"))})  # fmt: skip
    for path in ("/evidence", "/report.html"):
        visit.go(f"/starskip/dags/{DAG}/tables/tampered/2026-11-17{path}")
        inner = visit.tab.frame_locator("iframe") if path == "/evidence" else visit.tab
        inner.get_by_text("tampered", exact=True).last.wait_for()
    assert visit.dialogs == []
    assert visit.tab.evaluate("window.hacked") is None
    refused = [each for each in visit.errors if "Content Security Policy" in each or "sandboxed" in each]
    assert len(refused) == len(visit.errors) >= 2


@pytest.mark.slow
def test_an_unknown_night_and_another_dag_are_told_in_words(visit: Visit) -> None:
    visit.go(f"/plugin/starskip/starskip/dags/{DAG}/nights/2020-01-01")
    visit.frame("Starskip").get_by_text("There is no report for the night of 2020-01-01").wait_for()
    visit.shoot("missing")
    # That the answer is a 404 is what the browser's console says; nothing else is wrong.
    assert all("404" in each for each in visit.errors)
    assert visit.dialogs == visit.elsewhere == []
