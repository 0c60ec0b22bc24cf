from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_parts import report_part
from report_cases import lineitem
from starskip.advisor.run.gate_verdicts import STOPPED, GateCheck, GateVerdict, publish_verdicts
from starskip.advisor.run.night import Night
from starskip.errors import MissingSource, StorageError
from starskip.night.night_runs import failed_run, night_runs, note_run
from starskip.reports import overview as overview_of_tables
from starskip.reports.overview import NIGHTS_LOOKED_AT, overview
from starskip.reports.page_links import page_name
from starskip.reports.published_reports import published_document, published_page, published_table
from starskip.reports.render_html import content_security_policy, keeps_policy
from starskip.reports.report_files import report_files
from starskip.reports.report_lists import (
    ReportRow,
    neighbour_nights,
    night_rows,
    report_nights,
    table_rows,
)
from starskip.reports.report_summary import SUMMARY, report_summary
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow

FIRST = date(2026, 11, 1)
SUMMARY_OF_A_NIGHT = report_summary(lineitem())


def night_of(folder: Path, run_date: date = FIRST) -> Night:
    store = ArtefactStore(storage_for(str(folder)))
    return Night(run_date, store, Settings(), datetime(2026, 11, 21, tzinfo=UTC), "test")


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(report_files(lineitem()))


def publish(night: Night, tables: Collection[str], files: dict[str, bytes]) -> None:
    aside = night.store.staged_write("reports", night.date_text)
    night.publish(
        "reports",
        {
            table: report_part(aside, table, files, replace(SUMMARY_OF_A_NIGHT, run_date=night.run_date))
            for table in tables
        },
    )


def stop(night: Night, *tables: str) -> None:
    check = GateCheck("parse_query_logs", "few rejected", False, "41 %", "at most 5 %")
    publish_verdicts(
        night, "parse_query_logs", [GateVerdict(table, "parse_query_logs", (check,)) for table in tables]
    )


@pytest.fixture(scope="module")
def long_history(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> Night:
    """Seven nights, of which the sixth has no report and the seventh a stopped table only."""
    folder = tmp_path_factory.mktemp("history")
    tables = [["a", "b"], ["a"], ["b", "<c>", "a"], ["<c>"], ["a", "b", "A"], []]
    for i, names in enumerate(tables):
        if names:
            publish(night_of(folder, FIRST + timedelta(days=i)), names, files)
    stop(night_of(folder, FIRST + timedelta(days=2)), "d", "a")
    stop(night_of(folder, FIRST + timedelta(days=6)), "a")
    return night_of(folder)


def test_nights_with_reports_or_verdicts_newest_first(long_history: Night) -> None:
    assert [each.day for each in report_nights(long_history)] == [7, 5, 4, 3, 2, 1]


def test_a_store_that_was_never_written_has_no_night(tmp_path: Path) -> None:
    assert report_nights(night_of(tmp_path / "nothing")) == ()
    assert rows_of(night_of(tmp_path / "nothing")) == []


def rows_of(night: Night) -> list[ReportRow]:
    """The rows of all nights, newest first."""
    nights = (replace(night, run_date=each) for each in report_nights(night))
    return [row for each in nights for row in night_rows(each, limit=1_000).rows]


class CountingStorage:
    """A store that counts what is asked of it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._storage, name)


@pytest.fixture
def counted(long_history: Night) -> tuple[Night, Counter[str]]:
    storage = CountingStorage(long_history.store.storage)
    return replace(long_history, store=ArtefactStore(storage)), storage.asked


def test_what_was_read_once_is_not_read_again(counted: tuple[Night, Counter[str]]) -> None:
    night, asked = counted
    first = [rows_of(night), table_rows(night, "a", nights=9), night_rows(night, limit=9)]
    # The manifests of five nights' reports and of two nights' failed checks: no report is read.
    assert asked["read"] == 5 + 2
    asked.clear()
    again = [rows_of(night), table_rows(night, "a", nights=9), night_rows(night, limit=9)]
    assert again == first
    assert neighbour_nights(night, "a")[1] is not None
    assert published_table(night, "a") == "a"
    assert asked["read"] == 0


def test_the_overview_asks_the_store_for_a_few_nights_however_many_there_are(
    counted: tuple[Night, Counter[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    night, asked = counted
    monkeypatch.setattr(overview_of_tables, "NIGHTS_LOOKED_AT", 2)
    overview(night)
    # Two nights' reports; the last night's end, checks that failed; the ledger.
    assert asked["objects_below"] <= 2 + 2 + 1
    assert asked["read"] <= 2 + 2 + 1
    assert 7 <= NIGHTS_LOOKED_AT < 60


def test_a_night_that_is_run_again_is_read_again(tmp_path: Path, files: dict[str, bytes]) -> None:
    night = night_of(tmp_path)
    publish(night, ["a"], files)
    stop(night, "b")
    assert [row.table for row in rows_of(night)] == ["b", "a"]
    publish(night, ["a", "c"], files)
    stop(night, "c")
    assert [(row.table, bool(row.stopped)) for row in rows_of(night)] == [("c", True), ("a", False)]


def test_a_store_that_was_emptied_and_filled_again_under_the_same_numbers_is_read_again(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    """As ``make clean`` and ``make night`` beside a page that stays open."""
    night = night_of(tmp_path / "artefacts")
    for table in ("a", "b"):
        publish(night, [table], files)
        stop(night, f"{table} stopped")
        assert [row.table for row in rows_of(night)] == [f"{table} stopped", table]
        shutil.rmtree(tmp_path / "artefacts")
    assert rows_of(night) == []


@given(nights=st.integers(1, 10), table=st.sampled_from(["a", "b", "<c>", "nobody"]))
def test_a_history_goes_on_where_it_left_off(long_history: Night, nights: int, table: str) -> None:
    everything = table_rows(long_history, page_name(table), nights=1_000)
    assert everything.older is None
    shown: list[Any] = []
    before = None
    while True:
        page = table_rows(long_history, page_name(table), before=before, nights=nights)
        assert len(page.rows) <= nights
        shown += page.rows
        if page.older is None:
            break
        before = page.older
    assert shown == list(everything.rows)
    assert {row.table for row in shown} <= {table}


def test_a_stopped_table_stands_with_its_check_and_the_report_that_stays(long_history: Night) -> None:
    rows = {
        row.table: row
        for row in night_rows(replace(long_history, run_date=FIRST + timedelta(2)), limit=9).rows
    }
    assert list(rows) == ["a", "d", "<c>", "b"]
    assert rows["a"].stopped[0].observed == "41 %"
    assert rows["a"].summary is not None
    assert rows["d"].stopped and rows["d"].summary is None
    assert not rows["b"].stopped


def test_a_night_of_some_tables_shows_those(long_history: Night) -> None:
    some = replace(long_history, tables=frozenset({"b"}))
    assert [row.table for row in night_rows(some, limit=9).rows] == ["b"]


def test_a_night_of_many_tables_goes_on_behind_the_last(long_history: Night) -> None:
    third = replace(long_history, run_date=FIRST + timedelta(days=2))
    first = night_rows(third, limit=3)
    assert [row.table for row in first.rows] == ["a", "d", "<c>"]
    rest = night_rows(third, after=first.older_after, limit=3)
    assert [row.table for row in rest.rows] == ["b"]
    assert rest.older is None


def test_the_neighbours_are_the_next_nights_with_a_report_of_the_table(long_history: Night) -> None:
    third = replace(long_history, run_date=FIRST + timedelta(days=2))
    assert neighbour_nights(third, "a") == (date(2026, 11, 2), date(2026, 11, 5))
    assert neighbour_nights(third, "b") == (date(2026, 11, 1), date(2026, 11, 5))
    assert neighbour_nights(third, "<c>") == (None, date(2026, 11, 4))


def test_only_what_is_published_is_seen(tmp_path: Path, files: dict[str, bytes]) -> None:
    night = night_of(tmp_path)
    publish(night, ["a"], files)
    aside = night.store.staged_write("reports", night.date_text)
    aside.write_file("half", "report.json", files["report.json"])
    assert [row.table for row in rows_of(night)] == ["a"]
    with pytest.raises(MissingSource, match="no report of half for the night of 2026-11-01"):
        published_table(night, "half")


def test_a_report_without_a_summary_is_told_and_the_others_are_shown(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    night = night_of(tmp_path)
    publish(night, ["sound"], files)
    former = night.store.snapshot("reports", night.date_text)
    assert former is not None
    aside = night.store.staged_write("reports", night.date_text)
    older, newer = report_part(aside, "older", files, None), report_part(aside, "newer", files, None)
    newer = replace(newer, properties={SUMMARY: {**SUMMARY_OF_A_NIGHT.to_json(), "of_a_later_version": 1}})
    night.publish("reports", {**former.parts(), "older": older, "newer": newer})
    rows = {row.table: row for row in rows_of(night)}
    assert rows["sound"].summary is not None
    for table in ("older", "newer"):
        told = f"the report of {table} has no summary that this Starskip reads: run the night of"
        assert str(rows[table].problem).startswith(told)


def test_a_damaged_night_is_one_row_and_the_other_nights_are_shown(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    night, next_night = night_of(tmp_path), night_of(tmp_path, FIRST + timedelta(days=1))
    publish(night, ["a"], files)
    publish(next_night, ["a"], files)
    (manifest,) = (tmp_path / "reports" / next_night.date_text / "manifests").iterdir()
    manifest.write_bytes(b"torn")
    damaged, sound = rows_of(night)
    assert (damaged.table, sound.table) == ("", "a")
    assert "manifest is damaged" in str(damaged.problem)
    assert neighbour_nights(night, "a") == (None, None)
    # Its history has a gap that says so, and is not shorter by a night.
    history = table_rows(night, "a", nights=9).rows
    assert [(row.table, row.run_date.day) for row in history] == [("", 2), ("a", 1)]


@pytest.mark.parametrize("content", ["torn", "older"])
def test_damaged_verdicts_leave_the_reports_of_their_night(
    tmp_path: Path, files: dict[str, bytes], content: str
) -> None:
    night = night_of(tmp_path)
    publish(night, ["a"], files)
    night.publish(STOPPED, {"a": Part((), {"score_votes": "of an older version"})})
    if content == "torn":
        (manifest,) = (tmp_path / STOPPED / night.date_text / "manifests").iterdir()
        manifest.write_bytes(b"torn")
    damaged, sound = rows_of(night)
    assert (damaged.table, sound.table) == ("", "a")
    assert "stopped_tables" in str(damaged.problem) or "verdict on a" in str(damaged.problem)
    assert sound.summary is not None


def test_a_store_that_is_no_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        rows_of(night_of(tmp_path / "file"))


def test_the_page_is_served_as_published_and_that_of_another_version_anew(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    night = night_of(tmp_path)
    old = files["report.html"].replace(b"light dark", b"light").replace(b"sha256-", b"sha256-0")
    publish(night, ["now"], files)
    publish(replace(night, tables=frozenset({"then"})), ["then"], {**files, "report.html": old})
    assert published_page(night, "now") == files["report.html"]
    assert not keeps_policy(old)
    anew = published_page(night, "then")
    assert keeps_policy(anew) and b"lineitem" in anew
    assert "sha256-" in content_security_policy()


def test_a_file_that_is_not_of_a_report_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    night = night_of(tmp_path)
    publish(night, ["a"], files)
    assert published_document(night, "a", "report.md") == files["report.md"]
    for name in ("report.txt", "", "../report.md", "manifests"):
        with pytest.raises(MissingSource, match="there is no"):
            published_document(night, "a", name)


def test_a_night_that_failed_stands_in_the_lists_with_its_reason(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    first, second = (night_of(tmp_path, FIRST + timedelta(days=i)) for i in (0, 3))
    publish(first, ["a"], files)
    note_run(second, "night of 2026-11-04: parse_query_logs failed: no log (no report)", "parse: no log")
    assert report_nights(first) == (second.run_date, first.run_date)
    history = table_rows(first, "a", nights=9)
    assert [(row.table, row.failed) for row in history.rows] == [("", "parse: no log"), ("a", None)]
    assert history.gaps == ((FIRST + timedelta(days=1), FIRST + timedelta(days=2)),)
    assert [row.failed for row in night_rows(second, limit=9).rows] == ["parse: no log"]


@pytest.mark.parametrize(
    ("runs", "failed"),
    [
        ([(None, True)], None),
        ([("x", True)], "x"),
        ([("x", True), (None, True)], None),
        ([("x", True), (None, False)], "x"),
        ([(None, True), ("y", False)], None),
        ([("y", False)], None),
        ([("x", True), ("y", False)], "x"),
    ],
)
def test_a_run_of_some_tables_neither_fails_nor_mends_a_night(
    tmp_path: Path, runs: list[tuple[str | None, bool]], failed: str | None
) -> None:
    night = night_of(tmp_path)
    for number, (problem, is_whole) in enumerate(runs):
        note_run(replace(night, run_id=f"run {number}", is_of_some=not is_whole), problem, problem)
    found = failed_run(night)
    assert (found.night_problem if found else None) == failed
    assert [each.run_id for each in night_runs(night)] == [f"run {n}" for n in range(len(runs))]


def test_a_run_that_is_repeated_counts_once_and_no_more_than_twenty_are_kept(tmp_path: Path) -> None:
    night = night_of(tmp_path)
    for number in (*range(30), 29):
        note_run(replace(night, run_id=f"run {number}"), "p" * 9_000, None)
    found = night_runs(night)
    assert [each.run_id for each in found] == [f"run {n}" for n in range(10, 30)]
    assert len(found[-1].problem or "") == 2_000


def test_no_number_of_runs_of_some_tables_hides_the_failure_of_a_night(tmp_path: Path) -> None:
    night = night_of(tmp_path)
    note_run(night, "x", "x", is_log_missing=True)
    for number in range(30):
        note_run(replace(night, run_id=f"run {number}", is_of_some=True), None, None)
    found = failed_run(night)
    assert found is not None and found.is_log_missing
    assert [each.run_id for each in night_runs(night)] == ["test", *(f"run {n}" for n in range(10, 30))]
