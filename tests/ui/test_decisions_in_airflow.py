"""From the overview to a decision and what became of it, in a real browser and Airflow, over made nights.

The advice of each table is small enough to be computed by hand (``advised_store``).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from advised_store import publish_advice
from applied_cases import applied
from axe import axe_faults
from browser_visit import Visit
from published_parts import report_part
from report_cases import lineitem
from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.decisions import Decision, decide
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries, ledger_entries
from starskip.advisor.ledger.standing import approved_advice
from starskip.advisor.run.night import Night
from starskip.night.experiments import note_experiment, run_note
from starskip.night.night_runs import NIGHT_RUNS, note_run
from starskip.reports.advice_values import AdvisedAction, ConfigChange, KeyChange, NamedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.report_files import report_files
from starskip.reports.report_summary import report_summary
from starskip.settings import Settings
from starskip.storage.artefact_store import Experiment

pytestmark = [pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]

DAG = "index_advisor_nightly"
PAGES = f"/starskip/dags/{DAG}"
NIGHT = date(2026, 11, 20)
ADVISED = ("a", "b", "c")
# One table for each journey: decisions stay.
TABLES = ("purchases", "returns", "parcels", "refunds", "visits")


@pytest.fixture(scope="module")
def made(house: Any) -> Any:
    """One night of advice on each of the tables, of one of them also the night before; and an experiment."""
    for run_date, tables in ((NIGHT - timedelta(days=1), ("refunds",)), (NIGHT, TABLES)):
        publish_advice(house.store, run_date.isoformat(), tables, ADVISED)
        for table in tables:
            case = advice_on(table, run_date)
            house.publish(run_date.isoformat(), table, report_files(case), report_summary(case))
    tried = night_of(house, NIGHT, run_id="a trial", changed={"advice.max_indexes": "2"})
    tried = replace(tried, store=replace(tried.store, experiment=Experiment(NIGHT.isoformat(), "trial")))
    case = replace(advice_on("purchases", NIGHT), run_note=run_note(tried))
    write_report(tried, case)
    note_experiment(tried, ["purchases"])
    return house


def advice_on(table: str, run_date: date) -> Evidence:
    """Three inverted indexes to add; of the table ``refunds`` an advice was applied before."""
    case = lineitem()
    actions = tuple(
        AdvisedAction(
            f"inverted:{column}", "inverted", (column,), saving_ratio=0.2, size_bytes=1_000, shapes=1
        )
        for column in ADVISED
    )
    return replace(
        case,
        table=table,
        run_date=run_date,
        created_at=datetime(run_date.year, run_date.month, run_date.day, 23, tzinfo=UTC),
        actions=actions,
        chosen=tuple(replace(case.chosen[0], columns=(column,)) for column in ADVISED),
        change=ConfigChange(
            {"invertedIndexColumns": KeyChange((), ADVISED)},
            tuple(NamedIndex("inverted", (column,)) for column in ADVISED),
        ),
        applied=applied() if table == "refunds" else None,
    )


def night_of(house: Any, run_date: date, **more: Any) -> Night:
    return Night(run_date, house.store, Settings(), datetime.now(UTC), **{"run_id": "made", **more})


def write_report(night: Night, case: Evidence) -> None:
    staged = night.store.staged_write("reports", night.date_text)
    part = report_part(staged, case.table, report_files(case), report_summary(case))
    night.publish("reports", {case.table: part})


def overview_of(visit: Visit, table: str) -> Any:
    """Look for a table on the overview, and return its line."""
    visit.go("/plugin/starskip")
    pages = visit.frame("Starskip")
    pages.get_by_role("searchbox", name="Table").fill(table)
    pages.get_by_label("Family").select_option("inverted")
    pages.get_by_role("button", name="Filter").click()
    pages.get_by_text(re.compile("^1 of [0-9]+ tables$")).wait_for()
    return pages.get_by_role("row").filter(has=pages.get_by_role("link", name=table, exact=True))


def line_of(pages: Any, column: str) -> Any:
    """Return the line of the action on a column."""
    return pages.locator("table.actions tbody tr").filter(has=pages.locator(f"th code:text-is('{column}')"))


def states(pages: Any) -> Sequence[str]:
    found: Sequence[str] = pages.locator("table.actions .state-of").all_inner_texts()
    return found


def events(house: Any, table: str) -> list[tuple[str, str]]:
    return [(each.event.value, each.index.name) for each in ledger_entries(house.store, table)]


def test_a_person_finds_a_table_asks_what_if_and_decides(visit: Visit, made: Any) -> None:
    line = overview_of(visit, "purchases")
    assert line.locator(".states").inner_text() == "3 open"
    line.get_by_role("link", name="purchases", exact=True).click()
    pages = visit.frame("Starskip")
    pages.get_by_role("heading", name="What to do").wait_for()
    assert states(pages) == ["open"] * 3
    assert pages.locator("pre.diff").inner_text().count('"a"') == 1

    pages.get_by_role("link", name="What if it had other indexes?").click()
    pages.get_by_role("heading", name="The advised set").wait_for()
    # Of 10,000 entries: b saves 5,500 of the one shape's, c 3,000 of the other's.
    assert pages.locator("table.sets b").all_inner_texts() == ["85.0 %"]
    pages.get_by_role("checkbox", name="c advised").uncheck()
    pages.get_by_role("button", name="Show what they save").click()
    pages.get_by_role("heading", name="This set beside the advised one").wait_for()
    assert pages.locator("table.sets b").all_inner_texts() == ["85.0 %", "75.0 %"]
    pages.get_by_text("1 query shape scans otherwise than with the advised set: 1 more, 0 less.").wait_for()
    visit.shoot("what-if")
    pages.get_by_role("link", name="purchases").click()

    pages.get_by_role("button", name="Approve inverted:a", exact=True).click()
    pages.get_by_role("status").get_by_text("Approved.").wait_for()
    of_b = line_of(pages, "b")
    of_b.locator("summary").click()
    of_b.get_by_label("Why not").fill("no room <b>now</b>")
    of_b.get_by_role("button", name="Reject", exact=True).click()
    pages.get_by_role("status").get_by_text("Rejected.").wait_for()
    until = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    of_c = line_of(pages, "c")
    of_c.locator("summary").click()
    of_c.get_by_label("Not before").fill(until)
    of_c.get_by_role("button", name="Defer", exact=True).click()
    pages.get_by_role("status").get_by_text("Deferred.").wait_for()

    assert states(pages) == ["approved", "rejected", "deferred"]
    assert "by admin on" in line_of(pages, "a").inner_text()
    assert "no room <b>now</b>" in line_of(pages, "b").inner_text()
    assert f"proposed again from {until} on" in line_of(pages, "c").inner_text()
    visit.shoot("decided")
    told = overview_of(visit, "purchases").locator(".state-of").all_inner_texts()
    assert told == ["1 approved", "1 rejected", "1 deferred"]
    assert events(made, "purchases") == [
        ("approved", "inverted:a"),
        ("rejected", "inverted:b"),
        ("deferred", "inverted:c"),
    ]
    assert visit.is_clean()


@pytest.mark.slow
def test_all_of_an_advice_is_approved_by_the_keyboard(visit: Visit, made: Any) -> None:
    visit.go(f"{PAGES}/tables/returns")
    focused = visit.tab.locator(":focus")
    for _ in range(60):
        visit.tab.keyboard.press("Tab")
        if focused.count() and focused.inner_text() == "Approve all of the advice":
            break
    assert focused.evaluate("each => getComputedStyle(each).outlineStyle") != "none"
    visit.tab.keyboard.press("Enter")
    visit.tab.get_by_role("status").get_by_text("Approved.").wait_for()
    assert states(visit.tab) == ["approved"] * 3
    assert visit.tab.get_by_role("button", name="Approve").count() == 0
    assert events(made, "returns") == [("approved", f"inverted:{column}") for column in ADVISED]
    assert overview_of(visit, "returns").locator(".states").inner_text() == "3 approved"
    assert visit.is_clean()


@pytest.mark.slow
def test_another_set_is_approved_in_place_of_the_advised_one(visit: Visit, made: Any) -> None:
    visit.go(f"{PAGES}/tables/parcels/{NIGHT}/what-if")
    visit.tab.get_by_label("At most (K)").fill("2")
    visit.tab.get_by_role("button", name="Choose the best set").click()
    # The star-tree of b and c answers one shape, an index on b the other one.
    visit.tab.get_by_text("94.0 %").wait_for()
    assert visit.tab.get_by_role("checkbox", checked=True).count() == 2
    visit.tab.get_by_role("button", name="Approve this set in place of the advised one").click()
    visit.tab.get_by_role("status").get_by_text("Approved.").wait_for()
    advice = approved_advice("parcels", ledger_entries(made.store, "parcels"))
    assert advice is not None
    assert [each.name.partition("#")[0] for each in advice.indexes] == [
        "inverted:b",
        "star_tree:b,<i>c</i>",
    ]
    assert states(visit.tab) == ["open", "approved", "open"]
    assert "1 approved" in overview_of(visit, "parcels").locator(".states").inner_text()
    assert visit.is_clean()


@pytest.mark.slow
def test_what_was_applied_is_told_with_what_was_measured(visit: Visit, made: Any) -> None:
    night = night_of(made, NIGHT)
    decide(made.store, change_of_night(night, "refunds"), Decision(Event.APPROVED, "ann"))
    now = datetime.now(UTC)
    kept, also_kept, seen = ledger_entries(made.store, "refunds")
    measured: list[LedgerEntry] = [
        replace(
            each,
            event=Event.KEPT,
            at=now,
            who="apply",
            application="run 1",
            measured_saving_ratio=0.31,
            table_measured_saving_ratio=0.7,
        )
        for each in (kept, also_kept)
    ]
    add_entries(
        made.store,
        [*measured, replace(seen, event=Event.APPLIED, at=now, who="night")],
        created_at=now,
        created_by="apply",
    )
    line = overview_of(visit, "refunds")
    assert line.locator(".state-of").all_inner_texts() == ["1 applied", "2 kept"]
    assert "measured" in line.locator(".trust").inner_text()
    line.get_by_role("link", name="refunds", exact=True).click()
    pages = visit.frame("Starskip")
    pages.get_by_role("heading", name="What to do").wait_for()
    assert states(pages) == ["kept", "kept", "applied"]
    assert "31.0 % measured" in line_of(pages, "a").inner_text()
    assert "by night on" in line_of(pages, "c").inner_text()
    visit.shoot("applied")
    pages.get_by_role("link", name="Applied, and what became of it").click()
    report = pages.frame_locator("iframe")
    report.get_by_text("measured: 47.9 % of all entries saved").first.wait_for()
    assert visit.is_clean()


@pytest.fixture
def failed_night(made: Any) -> Iterator[date]:
    """The newest night with reports, whose last run of all tables has failed; afterwards it has not."""
    note_run(night_of(made, NIGHT, run_id="failed"), "no log: <b>none</b>", "no log: <b>none</b>")
    yield NIGHT
    for each in list(made.store.storage.objects_below(f"{NIGHT_RUNS}/{NIGHT}")):
        made.store.storage.delete(each.name)


@pytest.mark.slow
def test_a_failed_night_is_told_on_the_overview_and_in_the_calendar(visit: Visit, failed_night: date) -> None:
    visit.go("/plugin/starskip")
    pages = visit.frame("Starskip")
    strip = pages.get_by_role("region", name="What failed last night")
    strip.get_by_text("The night failed: no log: <b>none</b>").wait_for()
    visit.shoot("strip")
    pages.get_by_role("link", name="Calendar of nights").click()
    pages.get_by_role("link", name=re.compile(f"^{failed_night.day}.*November: failed$")).click()
    pages.get_by_role("heading", name=str(failed_night)).wait_for()
    pages.locator(".chosen").get_by_text("no log: <b>none</b>").wait_for()
    assert pages.get_by_role("button", name=f"Run {failed_night} again").is_enabled()
    visit.shoot("calendar")
    assert visit.is_clean()


@pytest.fixture
def reader(page: Any, browser: Any, tmp_path: Path) -> Iterator[Visit]:
    """A tab of someone whom Airflow's auth manager lets read and nothing else."""
    from starskip.airflow.airflow_environment import airflow_environment

    program = (
        "from airflow.api_fastapi.app import create_auth_manager\n"
        "from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser\n"
        "print(create_auth_manager().generate_jwt(SimpleAuthManagerUser(username='vera', role='viewer')))\n"
    )
    house = page.house
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=airflow_environment(Path.cwd(), house.environment, home=house.home, port=page.port),
        capture_output=True,
        text=True,
        check=True,
    )
    with browser.new_context() as context:
        context.add_cookies(
            [{"name": "_token", "value": done.stdout.split()[-1], "url": page.address, "httpOnly": True}]
        )
        visit = Visit(context.new_page(), page.address, tmp_path)
        visit.watch()
        yield visit


@pytest.mark.slow
def test_a_reader_sees_everything_and_no_form_that_decides(reader: Visit, made: Any) -> None:
    for path, words in (
        ("/tables/visits", "What to do"),
        (f"/tables/visits/{NIGHT}/what-if", "Approving a set asks for the right"),
        (f"/calendar?first={NIGHT}", "Who may start runs of this DAG can run this day here."),
    ):
        reader.go(f"{PAGES}{path}")
        reader.tab.get_by_text(words).first.wait_for()
        assert reader.tab.locator("form[method=post]").count() == 0
    reader.go(f"{PAGES}/tables/visits")
    assert states(reader.tab) == ["open"] * 3
    (index, *_) = change_of_night(night_of(made, NIGHT), "visits").indexes
    answer = reader.tab.request.post(
        f"{reader.address}{PAGES}/tables/visits/{NIGHT}/decide",
        form={"action": "approve", "index": index.key},
        headers={"Sec-Fetch-Site": "same-origin", "Origin": reader.address},
    )
    assert answer.status == 403
    assert events(made, "visits") == []
    assert reader.is_clean()


@pytest.mark.slow
def test_what_is_copied_is_the_config_and_the_command(visit: Visit, made: Any) -> None:
    visit.tab.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visit.address)
    visit.go("/plugin/starskip/" + f"{PAGES}/tables/visits".lstrip("/"))
    pages = visit.frame("Starskip")
    for words, copied in (("changed keys", '"invertedIndexColumns": ['), ("reload command", "curl -X POST")):
        pages.get_by_role("button", name=f"Copy the {words}").click()
        pages.get_by_role("button", name="Copied").wait_for()
        text = pages.locator("body").evaluate("() => navigator.clipboard.readText()")
        assert copied in text
        assert text == pages.locator(f'[data-copy="Copy the {words}"]').evaluate("each => each.textContent")
        pages.get_by_role("button", name=f"Copy the {words}").wait_for()
    assert visit.is_clean()


LOOKED_AT = {
    "overview": f"{PAGES}/",
    "overview of nothing": f"{PAGES}/?like=nothing&state=open",
    "table": f"{PAGES}/tables/refunds",
    "table of a night": f"{PAGES}/tables/lineitem/{NIGHT}",
    "table of an experiment": f"{PAGES}/experiments/trial/tables/purchases/{NIGHT}",
    "evidence": f"{PAGES}/tables/refunds/{NIGHT}/evidence",
    "report": f"{PAGES}/tables/refunds/{NIGHT}/report.html",
    "report of the sample": f"{PAGES}/tables/lineitem/{NIGHT}/report.html",
    "what-if": f"{PAGES}/tables/visits/{NIGHT}/what-if?ask=choose&k=1",
    "what-if of the sample": f"{PAGES}/tables/lineitem/{NIGHT}/what-if?ask=choose&k=1",
    "calendar": f"{PAGES}/calendar?first={NIGHT}",
    "days of the calendar": f"{PAGES}/calendar?first={NIGHT - timedelta(days=5)}&last={NIGHT}",
    "history": f"{PAGES}/tables/refunds/history",
    "compare": f"{PAGES}/tables/lineitem/compare",
    "night": f"{PAGES}/nights/{NIGHT}",
    "run": "",
    "a message": f"{PAGES}/nights/2020-01-01",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOKED_AT)
def test_nothing_serious_is_found(
    logged_in: Any, page: Any, made: Any, failed_night: date, name: str
) -> None:
    del failed_night
    run = f"/starskip/runs/{DAG}/{made.run_id.replace('+', '%2B').replace(':', '%3A')}"
    tab = logged_in.new_page()
    tab.goto(f"{page.address}/api/v2/version")
    tab.evaluate("() => localStorage.removeItem('theme')")
    tab.goto(page.address + (LOOKED_AT[name] or run))
    # What is folded is looked at, too. Axe-core cannot run in the frame of a report, which allows no script:
    # a report is looked at by itself.
    tab.evaluate("() => { for (const each of document.querySelectorAll('details')) each.open = true; }")
    found = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for width in (420, 1400, 1920):
            tab.set_viewport_size({"width": width, "height": 900})
            found += [f"{scheme} {width}: {fault}" for fault in axe_faults(tab)]
            if tab.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{scheme} {width}: something stands beside the screen")
    tab.close()
    assert found == []
