"""Content of the pages: reports, runs, and reports that are missing, damaged or at fault."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.airflow.report_places import DAG_ID, URL_PREFIX
from starskip.night.night_runs import note_run
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]


def test_the_report_is_the_published_page_under_its_own_policy(server: Any, store: ArtefactStore) -> None:
    from starskip.reports.render_html import content_security_policy

    snapshot = store.snapshot("reports", server.night)
    assert snapshot is not None
    published = {f.name[-11:]: snapshot.read_file(f) for f in snapshot.parts()["lineitem"].files}
    answer = server.get(f"{server.of_dag}/tables/lineitem/{server.night}/report.html")
    assert answer.content == published["report.html"]
    policy = answer.headers["Content-Security-Policy"]
    assert policy == f"{content_security_policy()}; frame-ancestors 'self'"

    download = server.get(f"{server.of_dag}/tables/lineitem/{server.night}/report.json")
    assert download.content == published["report.json"]
    assert download.headers["Content-Type"] == "application/json"
    assert (
        download.headers["Content-Disposition"]
        == f'attachment; filename="lineitem-{server.night}-report.json"'
    )


@pytest.mark.parametrize(
    ("table", "status", "says"),
    [
        ("sound", 200, ""),
        ("older_page", 200, ""),
        ("torn", 503, "not the JSON of a report"),
        ("newer", 503, "update it"),
        ("without_fields", 503, "is missing"),
        ("empty", 404, "there is no report."),
        ("gone", 503, "of that night again"),
    ],
)
def test_a_damaged_report_is_told_with_a_status_and_takes_no_other_with_it(
    server: Any, table: str, status: int, says: str
) -> None:
    for path in (
        f"{server.of_dag}/tables/{table}/{server.damaged_night}",
        f"{server.of_dag}/tables/{table}/{server.damaged_night}/report.html",
    ):
        answer = server.get(path)
        assert answer.status_code == status
        assert says.lower() in answer.text.lower()
        server.check_headers(answer)
    for path in (
        "/",
        f"{server.of_dag}/nights/{server.damaged_night}",
        f"{server.of_dag}/tables/{table}/history",
    ):
        answer = server.get(path)
        assert answer.status_code == 200
        assert table in answer.text
    assert (
        f"{server.of_dag}/tables/sound/{server.damaged_night}"
        in server.get(f"{server.of_dag}/nights/{server.damaged_night}").text
    )


def test_the_keys_of_a_connection_stay_out_of_the_server(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.models.connection import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.add(Connection("starskip_store", "aws", login="KEY", password="SECRET"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    assert server.get(f"/runs/{DAG_ID}/a+run").status_code == 200
    assert "AWS_ACCESS_KEY_ID" not in os.environ


def test_a_run_shows_the_night_that_it_is_about_and_its_tables(server: Any) -> None:
    server.add_run("by-interval", {})
    server.add_run("one-table", {"run_date": server.night, "tables": ["lineitem"]}, state="running")
    server.add_run("one-without-any", {"run_date": "2026-11-01"})
    whole = server.get(f"/runs/{DAG_ID}/a+run").text
    assert (
        f'Night of <time datetime="{server.night}"' in whole and "lineitem" in whole and "alert(1)" in whole
    )
    assert "<title>Night of 2026-11-18, all tables</title>" in whole
    part = server.get(f"/runs/{DAG_ID}/one-table").text
    assert "lineitem" in part and "alert(1)" not in part
    assert "<title>Night of 2026-11-18, lineitem</title>" in part
    # Its interval starts on the 19th, of which nothing is published.
    assert "Night of 2026-11-19, all tables" in server.get(f"/runs/{DAG_ID}/by-interval").text
    assert "has left no report" in server.get(f"/runs/{DAG_ID}/one-without-any").text
    assert server.get("/runs/another_dag/a+run").status_code == 404
    assert server.get(f"/runs/{DAG_ID}/unknown").status_code == 404


def test_a_run_that_goes_on_shows_its_stages_and_loads_itself_anew(server: Any) -> None:
    from airflow.models.dag import DagModel
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    asked = {
        "run_date": server.night,
        "advice.max_indexes": 3,
        "tables": ["<b>"],
        "building.build_indexes": None,
    }
    server.add_run("of-stages", asked, state="running")
    server.add_tasks("of-stages")
    with create_session() as session:
        tasks = {
            each.task_id: each
            for each in session.query(TaskInstance).filter(TaskInstance.run_id == "of-stages")
        }
        tasks["collect_segment_metadata"].state = "success"
        tasks["collect_segment_metadata"].start_date = datetime(2026, 11, 19, 2, tzinfo=UTC)
        tasks["collect_segment_metadata"].end_date = datetime(2026, 11, 19, 2, 1, 5, tzinfo=UTC)
        tasks["check_collect_segment_metadata"].state = "failed"
        tasks["parse_query_logs"].state = "upstream_failed"
    answer = server.get(f"/runs/{DAG_ID}/of-stages")
    server.check_headers(answer)
    text = answer.text
    assert answer.headers["Refresh"] == "10"
    still = server.get(f"/runs/{DAG_ID}/of-stages?still=1")
    assert "Refresh" not in still.headers and "of-stages?still=1" in text
    assert (
        "advice.max_indexes" in text
        and "building.build_indexes" not in text
        and "<b>" not in text.split("Stages")[0]
    )
    names = [
        text.index(f"<code>{name}</code>")
        for name in ("collect_segment_metadata", "parse_query_logs", "write_report", "finish_night")
    ]
    assert names == sorted(names)
    assert "1 min 05 s" in text and "✗ failed" in text and "not reached" in text
    server.add_run("of-a-dag-that-is-off", {"run_date": server.night}, state="queued")
    assert "The DAG is switched off" in server.get(f"/runs/{DAG_ID}/of-a-dag-that-is-off").text
    with create_session() as session:
        session.query(DagModel).filter(DagModel.dag_id == DAG_ID).update({"is_paused": False})
    assert "when the runs before it are over" in server.get(f"/runs/{DAG_ID}/of-a-dag-that-is-off").text


def test_a_run_of_some_tables_that_failed_is_no_failure_of_its_night(
    server: Any, store: ArtefactStore
) -> None:
    night = Night(date(2026, 11, 18), store, Settings(), datetime(2026, 11, 19, tzinfo=UTC), "of-no-table")
    note_run(
        replace(night, tables=frozenset(("no_such",))),
        "night of 2026-11-18: unknown table no_such",
        "unknown",
    )
    server.add_run("of-no-table", {"run_date": server.night, "tables": ["no_such"]}, state="failed")
    own = server.get(f"/runs/{DAG_ID}/of-no-table").text
    assert "This run failed:</b> night of 2026-11-18: unknown table no_such" in own
    for path in ("/", f"{server.of_dag}/nights/{server.night}", f"/runs/{DAG_ID}/a+run"):
        assert "unknown table" not in server.get(path).text


def test_pages_say_which_part_of_airflow_has_stopped(server: Any) -> None:
    from airflow.jobs.job import Job
    from airflow.utils.session import create_session

    assert "scheduler has given no sign of life yet" in server.get(f"/runs/{DAG_ID}/a+run").text
    with create_session() as session:
        for kind, heartbeat in (
            ("SchedulerJob", datetime.now(UTC)),
            ("DagProcessorJob", datetime(2026, 11, 20, 21, 3, tzinfo=UTC)),
        ):
            job = Job(job_type=kind, state="running")
            job.latest_heartbeat = heartbeat
            session.add(job)
    for path in (f"/runs/{DAG_ID}/a+run", f"{server.of_dag}/calendar"):
        text = server.get(path).text
        assert "Airflow&#39;s DAG processor has given no sign of life since 2026-11-20 21:03 UTC" in text
        assert "scheduler has given" not in text
    with create_session() as session:
        session.query(Job).delete()


def test_a_run_of_make_night_that_was_killed_is_called_failed_by_the_next_one(server: Any) -> None:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.types import DagRunTriggeredByType
    from starskip.airflow.unfinished_runs import end_unfinished_runs

    for run_id in ("killed-night", "one-of-the-scheduler-s"):
        server.add_run(run_id, {}, state="running")
    with create_session() as session:
        runs = {run.run_id: run for run in session.query(DagRun)}
        runs["killed-night"].triggered_by = DagRunTriggeredByType.TEST
        runs["one-of-the-scheduler-s"].triggered_by = DagRunTriggeredByType.TIMETABLE
    assert end_unfinished_runs() == 1
    with create_session() as session:
        states = {run.run_id: (str(run.state), run.end_date is None) for run in session.query(DagRun)}
    assert states["killed-night"] == ("failed", False)
    assert states["one-of-the-scheduler-s"] == ("running", True)
    assert end_unfinished_runs() == 0


def test_a_run_that_failed_says_why(server: Any, store: ArtefactStore) -> None:
    night = Night(date(2026, 11, 2), store, Settings(), datetime(2026, 11, 3, tzinfo=UTC), "failed-run")
    reason = "night of 2026-11-02: parse_query_logs failed: no log of <script>alert(1)</script> (no report)"
    note_run(night, reason, "parse_query_logs failed: no log")
    server.add_run("failed-run", {"run_date": "2026-11-02"}, state="failed")
    server.add_run("one-that-failed-after-it", {"run_date": "2026-11-02"}, state="failed")
    own = server.get(f"/runs/{DAG_ID}/failed-run")
    assert own.status_code == 200
    assert "This run failed:</b> night of 2026-11-02: parse_query_logs failed: no log" in own.text
    assert "This run has left no report." in own.text and "The night failed" not in own.text
    assert "&lt;script&gt;alert(1)" in own.text
    other = server.get(f"/runs/{DAG_ID}/one-that-failed-after-it").text
    assert "The log of its task finish_night says why." in other and "no log of" not in other
    for path in (f"{server.of_dag}/nights/2026-11-02", f"{server.of_dag}/tables/lineitem/history"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert "The night failed:" in answer.text and "parse_query_logs failed: no log" in answer.text
        server.check_headers(answer)


def test_the_overview_is_a_page_and_two_files_of_what_is_asked_for(server: Any) -> None:
    page = server.get(f"{server.of_dag}/?like=LINEITEM&kind=inverted")
    assert page.status_code == 200
    assert f'href="{URL_PREFIX}{server.of_dag}/overview.csv?like=LINEITEM&amp;kind=inverted"' in page.text
    for name, kind in (("overview.csv", "text/csv; charset=utf-8"), ("overview.json", "application/json")):
        answer = server.get(f"{server.of_dag}/{name}?like=LINEITEM&kind=inverted")
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert "lineitem" in answer.text and "alert(1)" not in answer.text
        server.check_headers(answer)
    empty = server.get(f"{server.of_dag}/?like=nobody")
    assert empty.status_code == 200
    assert "No table with advice whose name holds <code>nobody</code>" in empty.text


@pytest.fixture
def configured(server: Any, tmp_path: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        (tmp_path / "night.yaml").write_text(text)
        server.parse(tmp_path / "night.yaml")

    return write


def test_without_a_night_the_page_says_what_to_run(server: Any, configured: Callable[[str], None]) -> None:
    configured("store: {artefacts: nothing}\nsources: {segments_root: .}\n")
    answer = server.get("/")
    assert answer.status_code == 200
    assert "No night yet" in answer.text
    assert f"<pre>airflow dags trigger {DAG_ID}</pre>" in answer.text
    assert "night.yaml" in answer.text


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("store: {artefacts: night.yaml}\nsources: {segments_root: .}\n", "night.yaml"),
        ("store: {artefacts: unknown://x}\nsources: {segments_root: .}\n", "s3://"),
        ("sources: {segments_root: .}\n", "store.artefacts is missing"),
        ("[", "is not YAML"),
    ],
)
def test_what_cannot_be_read_is_told_and_not_shown(
    server: Any, configured: Callable[[str], None], config: str, says: str
) -> None:
    configured(config)
    for path in (
        "/",
        f"{server.of_dag}/nights/{server.night}",
        f"{server.of_dag}/tables/lineitem/{server.night}",
        f"/runs/{DAG_ID}/a+run",
    ):
        answer = server.get(path)
        # What is about one night shows it as a night that cannot be read.
        assert answer.status_code == 503
        assert says in answer.text and ("cannot be read" in answer.text or "Unreadable" in answer.text)
        assert "Traceback" not in answer.text and 'File "' not in answer.text
        server.check_headers(answer)


def test_a_fault_of_ours_is_one_sentence(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.airflow.report_pages import overview_pages

    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of the server")

    monkeypatch.setattr(overview_pages, "overview", fault)
    answer = server.get("/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "secret" not in answer.text and "Traceback" not in answer.text
    server.check_headers(answer)


def test_what_travels_in_the_dag_is_enough_where_its_configuration_is_not_seen(
    server: Any, store: ArtefactStore, configured: Callable[[str], None], tmp_path: Path
) -> None:
    configured(f"store: {{artefacts: {store.storage.place}}}\ntables: [lineitem]\n")
    (tmp_path / "night.yaml").unlink()
    assert "lineitem" in server.get("/").text
    # Other tables of the store are not of this DAG's nights.
    of_run = server.get(f"/runs/{DAG_ID}/a+run").text
    assert "lineitem" in of_run and "alert(1)" not in of_run


@pytest.fixture
def other_dag(server: Any, tmp_path: Path) -> Iterator[str]:
    """A second DAG, whose store holds nothing yet."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    (tmp_path / "other.yaml").write_text("store: {artefacts: others}\nsources: {segments_root: .}\n")
    server.parse(tmp_path / "other.yaml", dag_id="the_other")
    yield "the_other"
    with create_session() as session:
        session.get(DagModel, "the_other").is_stale = True


def test_two_dags_have_each_their_own_reports(server: Any, other_dag: str) -> None:
    server.add_run("of-the-other", {"run_date": server.night}, dag_id=other_dag)
    first = server.get("/").text
    for dag_id in (DAG_ID, other_dag):
        assert f'href="{URL_PREFIX}/dags/{dag_id}/"' in first
    assert f'{DAG_ID}/" aria-current="page"' in first and "lineitem" in first
    other = server.get(f"/dags/{other_dag}/")
    assert other.status_code == 200
    assert f'{other_dag}/" aria-current="page"' in other.text and "lineitem" not in other.text
    assert server.get(f"/dags/{other_dag}/tables/lineitem/{server.night}").status_code == 404
    assert "has left no report" in server.get(f"/runs/{other_dag}/of-the-other").text
    assert "lineitem" in server.get(f"/runs/{DAG_ID}/a+run").text


def test_who_may_read_one_dag_learns_nothing_of_the_other(
    server: Any, other_dag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    def allow_other(self: Any, *, details: Any, **rest: Any) -> bool:
        return details.id == other_dag

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", allow_other)
    for path in ("/", f"/dags/{other_dag}/"):
        assert server.get(path).status_code == 200
        assert DAG_ID not in server.get(path).text
    hidden, unknown = server.get(f"/dags/{DAG_ID}/"), server.get("/dags/no_such_dag/")
    assert (hidden.status_code, hidden.text) == (unknown.status_code, unknown.text)
    assert hidden.status_code == 404
    assert server.get(f"/runs/{DAG_ID}/a+run").status_code == 403


def test_before_airflow_has_read_a_dag_the_page_says_so(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.airflow.report_pages import permitted_dags

    monkeypatch.setattr(permitted_dags, "nightly_dags", lambda _: [])
    assert "No nightly DAG yet" in server.get("/").text
    assert server.get("/", None).status_code == 401


def test_another_dag_of_the_same_tag_is_none_of_ours(server: Any) -> None:
    from airflow.sdk import DAG
    from starskip.airflow.report_places import TAG

    server.store_dag(DAG("somebody_s_own", tags=[TAG], schedule=None))
    assert "somebody_s_own" not in server.get("/").text


def test_two_nights_of_a_table_stand_side_by_side(server: Any) -> None:
    address = f"{server.of_dag}/tables/lineitem/compare"
    answer = server.get(f"{address}?first={server.night}&second={server.night}")
    assert answer.status_code == 200
    server.check_headers(answer)
    assert "Nothing that the reports hold differs." in answer.text
    # There is one night of it alone.
    for query in (
        "",
        f"?first=2026-01-01&second={server.night}",
        "?second=2026-01-01",
        "?second=x",
        "?first=x",
    ):
        found = server.get(address + query)
        assert found.status_code == 404, query
    assert "is not a night" in found.text
    assert server.get(f"{server.of_dag}/tables/none/compare").status_code == 404
