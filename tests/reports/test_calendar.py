"""The state of each day, and the calendar that shows it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from html.parser import HTMLParser
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from starskip.advisor.run.night import Night
from starskip.night.night_runs import NIGHT_RUNS, note_run
from starskip.night.stored_note import StoredNote
from starskip.reports.night_days import (
    CalendarYear,
    DayState,
    NightDay,
    calendar_year,
    days_between,
    months_until,
    night_days,
)
from starskip.reports.page_links import PageLinks
from starskip.reports.render_calendar import Chosen, backfill_command, render_calendar
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for
from starskip.storage.stored_artefacts import StoredArtefact

LINKS = PageLinks("/starskip/dags/nightly")
FIRST = date(2026, 11, 1)


@pytest.fixture
def night(tmp_path: Path) -> Night:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    return Night(FIRST, ArtefactStore(storage_for(str(tmp_path))), Settings(), now, "run 1")


def report(night: Night) -> None:
    night.publish("reports", {"lineitem": Part(())})


def test_each_day_says_what_became_of_it(night: Night) -> None:
    of = [replace(night, run_date=FIRST + timedelta(days=each)) for each in range(9)]
    for each in (0, 1, 3, 5, 6):
        report(of[each])
    note_run(of[0], None, None)
    note_run(of[1], "table orders was stopped", None)
    note_run(of[2], "night: parse failed", "parse failed")
    note_run(of[3], "night: no log", "no log", is_log_missing=True)
    note_run(replace(of[4], is_of_some=True), "unknown table x", "unknown table x")
    note_run(replace(of[6], is_of_some=True), None, None)
    active = {of[7].run_date: (DayState.QUEUED, "manual__1")}
    found = night_days(night, days_between(FIRST, FIRST + timedelta(days=8)), active)
    assert [(day.state, day.has_reports) for day in found] == [
        (DayState.REPORTED, True),
        (DayState.PARTLY, True),
        (DayState.FAILED, False),
        (DayState.NO_LOG, True),
        (DayState.NOT_RUN, False),
        (DayState.REPORTED, True),
        (DayState.PARTLY, True),
        (DayState.QUEUED, False),
        (DayState.NOT_RUN, False),
    ]
    assert [day.why for day in found[1:4]] == ["table orders was stopped", "parse failed", "no log"]
    assert found[2].run_id == "run 1" and found[7].run_id == "manual__1"


def test_a_damaged_night_is_one_failed_day_with_its_reason(night: Night, tmp_path: Path) -> None:
    note_run(night, None, None)
    for file in (tmp_path / NIGHT_RUNS).rglob("*.json"):
        file.write_text("{")
    (day,) = night_days(night, (FIRST,), {})
    assert day.state is DayState.FAILED and NIGHT_RUNS in day.why


class Cells(HTMLParser):
    """The rows of the months, each with the texts of its cells, and the places that links lead to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.places: list[str] = []
        self.is_month = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.is_month = found.get("class") == "month" if tag == "table" else self.is_month
        if self.is_month and tag == "tr":
            self.rows.append([])
        if self.is_month and tag == "td":
            self.rows[-1].append("")
        if self.is_month and tag == "a":
            self.places.append(found["href"] or "")

    def handle_data(self, data: str) -> None:
        if self.is_month and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def calendar(days: list[NightDay], **more: object) -> str:
    return render_calendar(LINKS, "nightly", days, last_complete=date(2026, 11, 28), **more)  # type: ignore[arg-type]


def test_months_are_tables_of_weeks_whose_cells_can_be_read_aloud() -> None:
    states = {4: DayState.FAILED, 5: DayState.NO_LOG, 6: DayState.REPORTED}
    days = [
        NightDay(day, states.get(day.day, DayState.NOT_RUN), why="<b>disk</b>", has_reports=day.day == 6)
        for day in days_between(FIRST, date(2026, 11, 30))
    ]
    page = calendar(days)
    found = Cells(page)
    weeks = [row for row in found.rows if row]
    assert len(weeks) == 6 and all(len(row) == 7 for row in weeks)
    assert weeks[0] == ["", "", "", "", "", "", "1 November: not run"]
    assert weeks[1][2:5] == ["4✗ November: failed", "5∅ November: no log", "6✓ November: reported"]
    assert weeks[5][0].strip() == "30"  # not over yet: a number without a link
    assert "/starskip/dags/nightly/nights/2026-11-06" in found.places
    assert "/starskip/dags/nightly/calendar?first=2026-11-04" in found.places
    assert not [place for place in found.places if "2026-11-29" in place]
    assert "<b>disk" not in page and page.count("&lt;b&gt;disk") >= 2


def test_what_the_store_holds_is_shown_as_bars_of_the_largest_artefact() -> None:
    stored = [
        StoredArtefact("<b>queries", 3_000_000_000, 1_200, "2026-11-01", "2026-11-28", 2),
        StoredArtefact("reports", 0, 366, "2025-11-01", "2026-11-28", 2),
    ]
    page = calendar([], stored=StoredNote("2026-11-28", stored, ["30 days", "366 nights"]))
    (section,) = [each for each in page.split("<section>") if "<h2>What is kept" in each]
    assert "held 3 GB after the night of 2026-11-28" in section
    assert "&lt;b&gt;queries" in section and "<b>queries" not in page
    rows = section.split("<tr>")[2:]
    assert ["30 days" in rows[0], "366 nights" in rows[1]] == [True, True]
    assert 'class="part" width="100.0"' in rows[0] and 'class="part" width="0.0"' in rows[1]
    assert "1,200" in rows[0]
    assert "What is kept" not in calendar([])


def test_chosen_days_come_with_the_command_that_runs_them() -> None:
    days = [
        NightDay(day, DayState.REPORTED, has_reports=True) for day in days_between(FIRST, date(2026, 11, 3))
    ]
    again = backfill_command("nightly", days)
    assert again.endswith(
        "--from-date 2026-11-01 --to-date 2026-11-03T23:59:59 --max-active-runs 1 "
        "--reprocess-behavior completed"
    )
    missing = [*days, NightDay(date(2026, 11, 4), DayState.NO_LOG)]
    command = backfill_command("nightly", missing)
    assert command.endswith("--reprocess-behavior failed")
    page = calendar(missing, chosen=Chosen(missing, command, may_repeat=True))
    assert command in page and "4 days" in page and 'method="post"' not in page
    day = missing[-1:]
    page = calendar(missing, chosen=Chosen(day, command, may_repeat=True))
    assert 'action="/starskip/dags/nightly/calendar/2026-11-04/repeat" method="post"' in page
    assert 'method="post"' not in calendar(missing, chosen=Chosen(day, command, may_repeat=False))


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("UTC")])
def test_days_of_utc_are_asked_for_without_an_offset(zone: tzinfo) -> None:
    command = backfill_command("nightly", [NightDay(date(2026, 3, 7), DayState.FAILED)], zone)
    assert "--from-date 2026-03-07 --to-date 2026-03-07T23:59:59 " in command


def test_days_of_another_zone_than_utc_are_asked_for_by_their_offsets() -> None:
    days = [NightDay(date(2026, 3, day), DayState.FAILED) for day in (7, 8)]
    command = backfill_command("nightly", days, ZoneInfo("America/Los_Angeles"))
    assert "--from-date 2026-03-07T00:00:00-08:00 --to-date 2026-03-08T23:59:59-07:00 " in command


def test_months_end_with_the_asked_one() -> None:
    assert months_until(date(2026, 1, 31), 12) == (date(2025, 2, 1), date(2026, 1, 31))
    assert months_until(date(2026, 12, 1), 1) == (date(2026, 12, 1), date(2026, 12, 31))
    assert months_until(date(2024, 2, 5), 2) == (date(2024, 1, 1), date(2024, 2, 29))


def test_four_hundred_days_lie_on_two_pages_and_fewer_begin_with_the_first_night() -> None:
    complete = date(2026, 11, 28)
    few = calendar_year([date(2026, 11, 20), date(2026, 9, 20)], [], None, complete)
    assert few == CalendarYear(date(2026, 9, 1), date(2026, 11, 30), None, None)
    nights = [complete - timedelta(days=each) for each in range(400)]
    newest = calendar_year(nights, [], None, complete)
    assert newest == CalendarYear(date(2025, 12, 1), date(2026, 11, 30), date(2025, 11, 30), None)
    older = calendar_year(nights, [], newest.older, complete)
    assert older == CalendarYear(date(2025, 10, 1), date(2025, 11, 30), None, date(2026, 11, 25))
    assert calendar_year(nights, [], older.newer, complete) == newest
    # Days of another year are seen on a page of theirs, and days before the first night, too.
    assert calendar_year(nights, [date(2025, 10, 30)] * 2, None, complete).last == date(2025, 10, 31)
    assert calendar_year([complete], [date(2026, 8, 3)] * 2, None, complete).first == date(2026, 8, 1)
    assert calendar_year(nights, [], date(1, 1, 1), complete).first == date(1, 1, 1)
    assert calendar_year([], [], None, complete).first == date(2026, 11, 1)
