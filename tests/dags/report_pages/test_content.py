"""Content of the pages: reports, runs, and reports that are missing, damaged or at fault."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.airflow.report_places import DAG_ID
from starskip.night.night_runs import note_run
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]


def test_the_report_is_the_published_page_under_its_own_policy(server: Any, store: ArtefactStore) -> None:
    from starskip.reports.render_html import content_security_policy

    snapshot = store.snapshot("reports", server.night)
    assert snapshot is not None
    published = {f.name[-11:]: snapshot.read_file(f) for f in snapshot.parts()["lineitem"].files}
    answer = server.get(f"/tables/lineitem/{server.night}/report.html")
    assert answer.content == published["report.html"]
    policy = answer.headers["Content-Security-Policy"]
    assert policy == f"{content_security_policy()}; frame-ancestors 'self'"

    download = server.get(f"/tables/lineitem/{server.night}/report.json")
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
        ("empty", 404, "there is no report.html"),
        ("gone", 503, "of that night again"),
    ],
)
def test_a_damaged_report_is_told_with_a_status_and_takes_no_other_with_it(
    server: Any, table: str, status: int, says: str
) -> None:
    for path in (
        f"/tables/{table}/{server.damaged_night}",
        f"/tables/{table}/{server.damaged_night}/report.html",
    ):
        answer = server.get(path)
        assert answer.status_code == status
        assert says.lower() in answer.text.lower()
        server.check_headers(answer)
    for path in ("/", f"/nights/{server.damaged_night}", f"/tables/{table}"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert table in answer.text
    assert f"/tables/sound/{server.damaged_night}" in server.get(f"/nights/{server.damaged_night}").text


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
    part = server.get(f"/runs/{DAG_ID}/one-table").text
    assert "lineitem" in part and "alert(1)" not in part
    assert "This run is not over" in part and "not over" not in whole
    # Its interval starts on the 19th, of which nothing is published.
    assert "Night of 2026-11-19" in server.get(f"/runs/{DAG_ID}/by-interval").text
    assert "has left no report" in server.get(f"/runs/{DAG_ID}/one-without-any").text
    assert server.get("/runs/another_dag/a+run").status_code == 404
    assert server.get(f"/runs/{DAG_ID}/unknown").status_code == 404


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
    assert "has left no report. It failed: night of 2026-11-02: parse_query_logs failed: no log" in own.text
    assert "&lt;script&gt;alert(1)" in own.text
    other = server.get(f"/runs/{DAG_ID}/one-that-failed-after-it").text
    assert "The log of its task finish_night says why." in other and "It failed" not in other
    for path in ("/", "/nights/2026-11-02", "/tables/lineitem"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert "The night failed:" in answer.text and "parse_query_logs failed: no log" in answer.text
        server.check_headers(answer)


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def write(text: str) -> None:
        (tmp_path / "night.yaml").write_text(text)
        monkeypatch.setenv("STARSKIP_CONFIG", str(tmp_path / "night.yaml"))

    return write


def test_without_a_night_the_page_says_what_to_run(server: Any, configured: Callable[[str], None]) -> None:
    configured("store: {artefacts: nothing}\nsources: {segments_root: .}\n")
    answer = server.get("/")
    assert answer.status_code == 200
    assert "No night yet" in answer.text
    assert "<pre>make night</pre>" in answer.text
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
    for path in ("/", f"/nights/{server.night}", f"/tables/lineitem/{server.night}", f"/runs/{DAG_ID}/a+run"):
        answer = server.get(path)
        # What is about one night shows it as a night that cannot be read.
        assert answer.status_code == 503
        assert says in answer.text and ("cannot be read" in answer.text or "Unreadable" in answer.text)
        assert "Traceback" not in answer.text and 'File "' not in answer.text
        server.check_headers(answer)


def test_a_fault_of_ours_is_one_sentence(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.airflow.report_pages import pages

    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of the server")

    monkeypatch.setattr(pages, "recent_nights", fault)
    answer = server.get("/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "secret" not in answer.text and "Traceback" not in answer.text
    server.check_headers(answer)


def test_the_variable_names_the_configuration_where_the_environment_does_not(
    server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.models.variable import Variable

    monkeypatch.delenv("STARSKIP_CONFIG")
    (tmp_path / "of-the-variable.yaml").write_text(
        "store: {artefacts: nothing}\nsources: {segments_root: .}\n"
    )
    Variable.set("starskip_config", str(tmp_path / "of-the-variable.yaml"))
    try:
        assert "of-the-variable.yaml" in server.get("/").text
    finally:
        Variable.delete("starskip_config")
