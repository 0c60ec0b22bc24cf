"""The overview of all tables: ranks, states, outcomes, trends, filters and files."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from memory_storage import MemoryStorage
from report_cases import CASES
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.table_by_table import failed_parts
from starskip.night.night_runs import note_run
from starskip.reports.overview import Overview, TableRow, overview
from starskip.reports.overview_files import overview_csv, overview_json
from starskip.reports.overview_filter import OverviewFilter, choices_of_kinds, choices_of_states
from starskip.reports.page_links import PageLinks
from starskip.reports.render_overview import MAX_FAULTS, ROWS_A_PAGE, render_overview
from starskip.reports.report_summary import SUMMARY, ReportSummary, report_summary, summary_of
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part

LAST = date(2026, 11, 20)
LINKS = PageLinks("/starskip")


@pytest.fixture
def night() -> Night:
    store = ArtefactStore(MemoryStorage())
    return Night(LAST, store, Settings(), datetime(2026, 11, 21, 1, tzinfo=UTC), "test")


def summary(case: str = "lineitem", **changes: Any) -> ReportSummary:
    return replace(report_summary(CASES[case]()), **changes)


def publish(night: Night, age: int = 0, **tables: ReportSummary | None) -> None:
    """Publish a night ``age`` days before the last; None is a report of an older Starskip."""
    of_night = replace(night, run_date=LAST - timedelta(days=age))
    parts = {table: Part((), {SUMMARY: each.to_json()} if each else {}) for table, each in tables.items()}
    of_night.publish("reports", parts)


def rows_of(found: Overview) -> Mapping[str, TableRow]:
    return {row.table: row for row in found.rows}


def decide(night: Night, table: str, event: Event, column: str, **more: Any) -> None:
    entry = LedgerEntry(
        table, datetime(2026, 11, 21, 9, tzinfo=UTC), "ann", event,
        AdvisedIndex("inverted", (column,)), LAST.isoformat(), **more,
    )  # fmt: skip
    add_entries(night.store, [entry], created_at=night.started_at, created_by="test")


def test_a_summary_comes_back_from_plain_json_as_it_was() -> None:
    for case in CASES:
        found = summary(case)
        document = json.loads(json.dumps(found.to_json()))
        assert summary_of(Part((), {SUMMARY: document}), found.table, found.run_date) == found


def test_tables_are_ranked_by_time_where_all_times_are_trusted_and_else_by_entries(night: Night) -> None:
    slow = summary("milliseconds", saving_ms=90_000.0, saving_entries=5.0)
    busy = summary("milliseconds", saving_ms=2_000.0, saving_entries=9e9)
    publish(night, slow=slow, busy=busy, bytes=summary("lake_only"), none=summary("nothing_to_recommend"))
    found = overview(night)
    assert (found.unit, [row.table for row in found.ranked]) == ("milliseconds", ["slow", "busy"])
    assert [row.table for row in found.lake] == ["bytes"]
    assert [row.table for row in found.without] == ["none"]
    assert "no index would save enough" in found.without[0].why
    publish(night, slow=slow, busy=replace(busy, saving_ms=None, times_trusted=False))
    found = overview(night)
    assert (found.unit, [row.table for row in found.ranked]) == ("entries", ["busy", "slow"])


def test_the_standing_advice_is_the_newest_and_the_last_nights_outcome_stands_beside_it(night: Night) -> None:
    publish(night, 2, old=summary(run_date=LAST), kept=summary(), torn=summary())
    publish(night, 0, kept=summary(), torn=None)
    night.publish("reports", {**night.store.snapshot("reports", night.date_text).parts(),  # type: ignore[union-attr]
                              **failed_parts({"broken": "a fault of Starskip"})})  # fmt: skip
    check = GateCheck("score_votes", "votes", False, "0", "at least 1")
    publish_verdicts(night, "score_votes", [GateVerdict("halted", "score_votes", (check,))])
    found = overview(night)
    rows = rows_of(found)
    outcomes = {table: row.outcome for table, row in rows.items()}
    assert outcomes == {
        "kept": "reported", "old": "absent", "torn": "unreadable", "broken": "failed", "halted": "stopped",
    }  # fmt: skip
    assert rows["old"].advice is not None and rows["old"].advice.run_date == LAST - timedelta(days=2)
    assert rows["torn"].advice is not None and "has no summary" in rows["torn"].why
    assert rows["halted"].why == "after score_votes: votes, found 0, expected at least 1"
    assert {(each.kind, each.table) for each in found.faults} == {
        ("failed", "broken"), ("stopped", "halted"), ("unreadable", "torn"),
    }  # fmt: skip


def test_a_gate_that_passes_later_stops_nothing_any_more(night: Night) -> None:
    publish(night, a=summary(), b=summary())
    for fails in (True, False):
        check = GateCheck("score_votes", "votes", not fails, "0", "at least 1")
        late = GateCheck("write_report", "files", False, "2", "3")
        publish_verdicts(night, "score_votes", [GateVerdict(each, "score_votes", (check,)) for each in "ab"])
        publish_verdicts(night, "write_report", [GateVerdict("b", "write_report", (late,))])
        stages = [row.why.partition(":")[0] for row in overview(night).rows]
        assert stages == (["after score_votes"] * 2 if fails else ["", "after write_report"])
    one = replace(night, tables=frozenset({"a"}))
    publish_verdicts(one, "write_report", [GateVerdict("a", "write_report", ())])
    assert [row.outcome for row in overview(night).rows] == ["reported", "stopped"]


def test_states_are_counted_and_what_was_measured_is_told(night: Night) -> None:
    publish(night, a=summary(), b=summary(), done=summary("nothing_to_recommend"))
    decide(night, "a", Event.APPROVED, "l_suppkey")
    decide(night, "a", Event.REJECTED, "l_shipmode", reason="no")
    decide(night, "a", Event.APPROVED, "l_comment")
    measured = {"table_predicted_saving_ratio": 0.5, "table_measured_saving_ratio": 0.4}
    reload = {"reloaded_bytes": 4_000_000_000, "reload_seconds": 40.0}
    decide(night, "done", Event.KEPT, "l_tax", application="x", **measured, **reload)
    found = overview(night)
    rows = rows_of(found)
    assert rows["a"].states == {"open": 2, "approved": 1, "rejected": 1}
    assert rows["b"].states == {"open": 4}
    assert (rows["done"].applied, rows["done"].measured) == (1, (pytest.approx(-0.1), 1))
    assert found.is_rate_measured
    assert rows["a"].reload_seconds == pytest.approx(20_093_570 / 1e8)
    assert choices_of_states(found) == {"open": 2, "approved": 1, "rejected": 1}
    assert choices_of_kinds(found) == {"inverted": 2}


def test_the_trend_has_a_point_for_each_night_with_a_saving(night: Night) -> None:
    for age, ratio in ((9, 0.3), (3, 0.5), (2, None), (1, 0.55), (0, 0.6)):
        indexes = summary().indexes if ratio else ()
        publish(night, age, a=summary(saving_ratio=ratio, indexes=indexes), other=summary("without_log"))
    found = overview(night)
    trend = rows_of(found)["a"].trend
    assert [(each.run_date.day, each.ratio) for each in trend] == [
        (11, 0.3), (17, 0.5), (18, 0.0), (19, 0.55), (20, 0.6),
    ]  # fmt: skip
    # Advice without a log has a saving that nobody knows.
    assert rows_of(found)["other"].trend == ()
    page = render_overview(LINKS, found, OverviewFilter())
    (line,) = re.findall(r'<svg class="spark".*?</svg>', page, re.DOTALL)
    assert line.count("<polyline") == 1 and line.count(",") == 4
    assert "2026-11-11: 30.0 %; 2026-11-17: 50.0 %" in line
    assert ">30 % on 11 Nov<" in page


def test_a_damaged_night_or_ledger_is_a_fault_and_the_other_nights_are_shown(night: Night) -> None:
    publish(night, 1, a=summary())
    publish(night, 0, a=summary())
    decide(night, "a", Event.APPROVED, "l_suppkey")
    note_run(night, "night of 2026-11-20: no log", "parse_query_logs failed: no log")
    storage = night.store.storage
    assert isinstance(storage, MemoryStorage)
    for name in storage.objects:
        if name.startswith(("reports/2026-11-20/manifests", "ledger/current/manifests")):
            storage.objects[name] = b"torn"
    found = overview(night)
    assert [each.kind for each in found.faults] == ["night", "unreadable", "unreadable"]
    assert [row.outcome for row in found.ranked] == ["absent"]


def test_only_the_tables_of_the_dag_are_shown(night: Night) -> None:
    publish(night, a=summary(), b=summary())
    assert [row.table for row in overview(replace(night, tables=frozenset("b"))).rows] == ["b"]


def test_filters_keep_the_rank_and_say_what_they_left_out(night: Night) -> None:
    tables = {f"t{i}": summary(saving_entries=100.0 - i) for i in range(6)}
    publish(night, **tables, tree=summary("milliseconds", saving_entries=1.0))
    decide(night, "t3", Event.APPROVED, "l_suppkey")
    found = overview(night)

    def shown(asked: OverviewFilter) -> list[tuple[str, str]]:
        page = render_overview(LINKS, found, asked)
        return re.findall(r'<td class="rank">(\d+)</td>\s*<th[^>]*><a[^>]*><code>(\w+)', page)

    assert [name for _, name in shown(OverviewFilter())] == [*tables, "tree"]
    assert shown(OverviewFilter(like="T3")) == [("4", "t3")]
    assert shown(OverviewFilter(like="t3_OFFLINE")) == [("4", "t3")], "as Pinot's own pages name it"
    assert shown(OverviewFilter(state="approved")) == [("4", "t3")]
    assert shown(OverviewFilter(kind="star_tree")) == [("7", "tree")]
    page = render_overview(LINKS, found, OverviewFilter("zz", "approved", "star_tree"))
    (told,) = re.findall(r"<section><p>(No table.*?)</p>", page, re.DOTALL)
    words = " ".join(re.sub("<[^>]+>", "", told).split())
    assert words == (
        "No table with advice whose name holds zz, in state approved, with star-tree. Show all tables"
    )
    assert 'href="/starskip/overview.csv?like=zz&amp;state=approved&amp;kind=star_tree"' in page
    assert '<option value="approved" selected>' in page


def test_many_tables_come_page_by_page(night: Night) -> None:
    number = 2 * ROWS_A_PAGE + 3
    tables = {f"t{i:04}": summary(saving_entries=1e6 - i) for i in range(number)}
    publish(night, **tables, none=summary("nothing_to_recommend"), lake=summary("lake_only"))
    found = overview(night)
    seen: list[str] = []
    for page in (1, 2, 3):
        shown = render_overview(LINKS, found, OverviewFilter(like="t"), page=page)
        seen += re.findall(r'<td class="rank">\d+</td>\s*<th[^>]*><a[^>]*><code>(\w+)', shown)
        assert ("?like=t&amp;page=" + str(page + 1) in shown) == (page < 3)
        assert ("without advice, and why" in shown) == (page == 3 and False)
    assert seen == list(tables)
    last = render_overview(LINKS, found, OverviewFilter(), page=3)
    assert "<code>lake</code>" in last and "1 table without advice, and why" in last
    assert render_overview(LINKS, found, OverviewFilter(), page=99).count('class="rank"') == 0


def test_more_faults_than_a_strip_shows_are_counted(night: Night) -> None:
    night.publish("reports", failed_parts({f"t{i}": f"fault {i}" for i in range(MAX_FAULTS + 3)}))
    page = render_overview(LINKS, overview(night), OverviewFilter())
    assert page.count("✗ Failed:") == MAX_FAULTS
    assert '<a href="/starskip/nights/2026-11-20">and 3 more »</a>' in page


def strip_of(found: Overview) -> list[str]:
    """Return the lines of the strip as they are read."""
    page = render_overview(LINKS, found, OverviewFilter())
    (strip,) = re.findall(r'<div class="alarm strip".*?</div>', page, re.DOTALL)
    lines = re.findall("<li>(.*?)</li>", strip, re.DOTALL)
    return [" ".join(html.unescape(re.sub("<[^>]+>", "", each)).split()) for each in lines]


def test_equal_faults_stand_once_with_their_number_and_next_step(night: Night) -> None:
    ours = {"x": "a fault of Starskip: KeyError in votes, line 88: 'l_tax'", "y": "a fault of Starskip: z"}
    night.publish("reports", failed_parts({**ours, "own": "a day is missing"}))
    verdicts = []
    for table, share in (("log", "38 %"), ("a", "38 %"), ("b", "38 %"), ("c", "38 %"), ("d", "9 %")):
        check = GateCheck(
            "parse_query_logs", f"log of {table}: records rejected", False, share, "at most 5 %"
        )
        verdicts.append(GateVerdict(table, "parse_query_logs", (check,)))
    publish_verdicts(night, "parse_query_logs", verdicts)
    found = overview(night)
    step = "→ starskip parse-log FILE --rejected shows these records"
    assert strip_of(found) == [
        "✗ 4 tables stopped by a quality check: after parse_query_logs: log of the table: records rejected, "
        f"found 38 %, expected at most 5 % (a, b, c and 1 more) {step}",
        "✗ 2 tables failed: a fault of Starskip (x, y) → please report it, with what the night's log says of "
        "it",
        "✗ Stopped by a quality check: d after parse_query_logs: log of d: records rejected, found 9 %, "
        f"expected at most 5 % {step}",
        "✗ Failed: own a day is missing",
    ]
    assert "line 88" not in render_overview(LINKS, found, OverviewFilter())


def test_advice_that_was_decided_against_stands_last_and_counts_in_no_figure(night: Night) -> None:
    tree = summary("milliseconds", saving_entries=1e9)
    tables = {f"t{i}": summary(saving_entries=100.0 - i) for i in range(5)}
    publish(
        night, **tables, most=summary(saving_entries=5_000.0), part=tree, none=summary("nothing_to_recommend")
    )
    for event, index in zip(
        (Event.REJECTED, Event.DEFERRED, Event.REFUTED, Event.TAKEN_BACK), summary().indexes, strict=True
    ):
        decide(night, "most", event, *index.columns)
    decide(night, "part", Event.REJECTED, "l_suppkey")
    found = overview(night)
    assert [row.table for row in found.ranked] == ["part", *tables, "most"]
    assert [row.table for row in found.counted] == ["part", *tables]
    page = render_overview(LINKS, found, OverviewFilter())
    assert "The first 1 of the 6 tables with advice to act on bring 80 % of it." in page
    assert "1 table whose advice was decided against is last." in page
    figures = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    assert figures[:2] == [
        ("a night would save, with all of it done", "1 G entries"),
        ("of 8 tables have advice to act on in Pinot", "6"),
    ]


def test_a_night_before_yesterday_is_told_to_be_old(night: Night) -> None:
    publish(night, a=summary())
    for days, words in ((-1, None), (0, None), (1, None), (2, "2 days ago"), (9, "9 days ago")):
        page = render_overview(LINKS, overview(night), OverviewFilter(), today=LAST + timedelta(days=days))
        assert re.findall(r"(\d+ days ago)", page) == ([words] if words else [])


def test_the_page_says_cost_trust_state_and_what_to_do(night: Night) -> None:
    publish(night, lineitem=summary("milliseconds"))
    page = " ".join(re.sub("<[^>]+>", " ", render_overview(LINKS, overview(night), OverviewFilter())).split())
    for words in (
        "Ranked by the time that a night would save",
        "4.31 s 73.1 %, 70–76 %",
        "inverted l_suppkey , l_shipmode , l_partkey +1",
        "drop inverted l_comment",
        "star-tree",
        "saving well known",
        "time known",
        "reload 5 s",
        "7 open",
    ):
        assert words in page


FORMULAS = ("=1+1", "+1", "-1", "@sum", " =1", "\t=1", "\r=1", "|x", "%x", '=HYPERLINK("http://x")', "\n=1")


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_becomes_a_formula(night: Night, name: str) -> None:
    night.publish("reports", {name: Part((), {SUMMARY: summary(headline=name).to_json()})})
    content = overview_csv(overview(night)).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(content))
    assert not any((value or "").lstrip()[:1] in tuple("=+@|%\t\r") for value in row.values())
    assert not row["table"].lstrip().startswith("-")
    assert row["saving_ratio"] == "0.6102"


def test_the_files_hold_what_the_page_shows(night: Night) -> None:
    publish(night, a=summary("milliseconds"), b=summary("lake_only"), c=summary("empty_log"))
    decide(night, "a", Event.APPROVED, "l_suppkey")
    found = overview(night)
    document = json.loads(overview_json(found))
    assert (document["nights"], document["unit"]) == (["2026-11-20"], "milliseconds")
    first, second, third = document["tables"]
    assert (first["rank"], first["table"], first["saving_ms"]) == (1, "a", 4_310.0)
    assert first["states"] == ["6_open", "1_approved"]
    assert "drop inverted:l_comment" in first["actions"]
    assert (second["rank"], second["lake_ratio"], third["rank"]) == (2, 0.6204, None)
    assert "holds no query of it" in third["why"]
    rows = list(csv.DictReader(io.StringIO(overview_csv(found).decode("utf-8-sig"))))
    assert [row["table"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["states"] == "6_open; 1_approved"
    assert rows[0]["actions"].split("; ") == first["actions"], "the names of kinds and columns hold spaces"


def test_a_store_without_a_night_has_an_empty_overview(night: Night) -> None:
    found = overview(night)
    assert found.rows == () and found.nights == ()
    assert "No table has advice." in render_overview(LINKS, found, OverviewFilter(), dags=[("x", "/x")])
