"""Messages about runs: what is told, by which notifiers, and what a hostile name can do in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from counting_storage import CountingStorage
from mail_server import MailServer, mail_server
from report_cases import lineitem
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict
from starskip.advisor.run.night import Night
from starskip.airflow.night_outcome import NightOutcome
from starskip.errors import ConfigError
from starskip.night.new_advice import new_advice
from starskip.number_text import percent
from starskip.reports.advice_values import Interval
from starskip.reports.afterwards_evidence import Afterwards, LaterNight
from starskip.reports.applied_evidence import AppliedAdvice
from starskip.reports.report_files import report_files
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

BEGUN = datetime(2026, 11, 21, 2, tzinfo=UTC)
LINK = "/dags/nightly/runs/scheduled__1/plugin/starskip-run"
HOSTILE = "lineitem\r\nBcc: everyone@example.com\r\n\r\n<img src=x onerror=alert(1)>"


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(date(2026, 11, 20), ArtefactStore(LocalStorage(tmp_path)), Settings(), BEGUN, "scheduled__1")


def advise(night: Night, advised: dict[str, dict[str, float]]) -> None:
    """Publish reports, and advice whose every answer is an index of that name and saving."""
    parts = {}
    for table, indexes in advised.items():
        answers = [
            {"family": "star_tree", "columns": [name], "saving_ratio": r} for name, r in indexes.items()
        ]
        parts[table] = Part((), {"answers": answers, "queries": 1})
    night.publish("recommendations", parts)
    night.publish("reports", {table: Part(()) for table in advised})


def before(night: Night, days: int = 1) -> Night:
    return replace(night, run_date=night.run_date - timedelta(days=days))


def told(
    night: Night, failed: str | None = None, run_type: str = "scheduled", problems: Any = None
) -> list[Any]:
    from starskip.airflow.notifications import PROBLEMS, night_messages
    from starskip.airflow.task_failure import FAILURE

    pushed = {FAILURE: failed, PROBLEMS: problems}
    run = SimpleNamespace(dag_id="nightly", run_id="scheduled__1", run_type=run_type, start_date=BEGUN)
    ti = SimpleNamespace(xcom_pull=lambda key, **_: pushed[key])
    return list(night_messages({"dag_run": run, "ti": ti}, lambda _: night))


def kinds(messages: Sequence[Any]) -> list[str]:
    return [each.kind for each in messages]


def test_advice_is_new_if_the_night_before_did_not_have_it_and_large_by_the_settings(night: Night) -> None:
    advise(before(night, 3), {"known": {"a": 0.5}, "grown": {"a": 0.3}})
    advise(
        night,
        {
            "known": {"a": 0.6},
            "grown": {"a": 0.2, "b": 0.06, "c": 0.05},
            "small": {"a": 0.09},
            "first": {"a": 0.4},
        },
    )
    found = new_advice(night)
    assert [each.table for each in found] == ["first", "grown"]
    assert [each.name for each in found[1].indexes] == ["star_tree:b", "star_tree:c"]
    assert found[1].saving_ratio == pytest.approx(0.11)


def test_one_message_a_kind_and_night_names_the_tables(dag_bag: Any, night: Night) -> None:
    advise(night, {f"t{i:03}": {"a": 0.9 - i / 1000} for i in range(200)})
    (message,) = told(night)
    values = message.values()
    assert values["kind"] == "new_advice"
    assert values["subject"] == "Starskip: new advice on 200 tables, night of 2026-11-20"
    lines = values["text"].splitlines()
    assert lines[0] == f"t000: 1 new, saving {percent(0.9)} of all entries: star_tree:a"
    assert lines[-2] == "and 190 more"
    assert lines[-1].endswith(LINK)
    assert f'{LINK}">' in values["html"]


def test_the_nights_before_are_asked_for_once_however_many_tables_there_are(
    dag_bag: Any, night: Night
) -> None:
    counting = CountingStorage(night.store.storage)
    night = replace(night, store=ArtefactStore(counting))
    requests = []
    for tables in (2, 20):
        advise(before(night, 3), {f"t{i}": {"a": 0.5} for i in range(tables)})
        advise(night, {f"t{i}": {"a": 0.5, "b": 0.3} for i in range(tables)})
        counting.calls.clear()
        assert kinds(told(night)) == ["new_advice"]
        counting.calls.pop("arrow_filesystem")  # the rows of each table
        requests.append(counting.calls.copy())
    assert requests[0] == requests[1]


def test_a_night_that_failed_is_told_with_its_reason(dag_bag: Any, night: Night) -> None:
    advise(night, {"lineitem": {"a": 0.9}})
    assert kinds(told(night)) == ["new_advice"]
    messages = told(night, failed="night of 2026-11-20: no log")
    assert kinds(messages) == ["failed_night", "new_advice"]
    assert messages[0].values()["subject"] == "Starskip: the night of 2026-11-20 failed"
    assert messages[0].values()["text"].startswith("night of 2026-11-20: no log\n")


def stopped_night(tables: Sequence[str], failed: Mapping[str, str] | None = None) -> NightOutcome:
    """The outcome of a night in which a gate stopped some tables."""
    check = GateCheck("score_votes", "votes", False, "0", "at least 1")
    stopped = tuple(GateVerdict(table, "score_votes", (check,)) for table in tables)
    return NightOutcome("2026-11-20", failed or {}, stopped, (), ("lineitem",))


def test_stopped_tables_are_told_apart_from_a_stage_that_failed(dag_bag: Any, night: Night) -> None:
    group = "score_votes of orders, nation"
    outcome = stopped_night(["region"], {group: "the store does not answer"})
    failed, stopped = told(night, outcome.problem(), problems=outcome.told())
    assert failed.kind == "failed_night"
    assert list(failed.lines) == [f"{group} failed: the store does not answer"]
    assert stopped.kind == "stopped_table"
    assert stopped.subject == "Starskip: gates failed on region, the night of 2026-11-20"
    reason = "was stopped by check_score_votes: votes: found 0, expected at least 1"
    assert list(stopped.lines) == [f"region {reason}"]
    outcome = stopped_night(["region"])
    assert kinds(told(night, outcome.problem(), problems=outcome.told())) == ["stopped_table"]


def test_two_hundred_stopped_tables_are_a_short_message_and_a_short_reason(
    dag_bag: Any, night: Night
) -> None:
    outcome = stopped_night([f"t{i:03}" for i in range(200)])
    (message,) = told(night, outcome.problem(), problems=outcome.told())
    assert message.subject == "Starskip: gates failed on 200 tables, the night of 2026-11-20"
    lines = message.values()["text"].splitlines()
    assert len(lines) == 12 and lines[10] == "and 190 more"
    problem = outcome.problem()
    assert problem is not None
    assert "table t019 was" in problem and "; and 180 more (reports of lineitem are published)" in problem
    assert "t020" not in problem


def test_an_experiment_tells_its_failure_alone_and_a_backfill_nothing(dag_bag: Any, night: Night) -> None:
    aside = replace(night, store=replace(night.store, experiment=Experiment(night.date_text, "x")))
    advise(aside, {"lineitem": {"a": 0.9}})
    assert told(aside) == []
    (message,) = told(aside, failed="no log")
    assert message.subject == "Starskip: an experiment about the night of 2026-11-20 failed"
    assert told(night, failed="no log", run_type="backfill") == []


def test_predictions_that_were_refuted_in_this_run_are_told(dag_bag: Any, night: Night) -> None:
    from starskip.airflow.notifications import apply_messages

    index = AdvisedIndex("inverted", ("city",), saving_ratio=0.4)
    for table, event, at in (
        ("orders", Event.REFUTED, BEGUN + timedelta(minutes=1)),
        ("orders", Event.KEPT, BEGUN + timedelta(minutes=1)),
        ("earlier", Event.REFUTED, BEGUN - timedelta(minutes=1)),
    ):
        entry = LedgerEntry(
            table, at, "ann", event, index, "2026-11-18", "too slow", measured_saving_ratio=0.03
        )
        add_entries(night.store, [entry], created_at=at, created_by="test")
    assert kinds(told(night)) == ["refuted"]
    run = SimpleNamespace(dag_id="apply", run_id="scheduled__1", start_date=BEGUN)
    (message,) = apply_messages({"dag_run": run}, lambda _: night)
    assert message.subject == "Starskip: predictions on orders were refuted"
    first, link = message.values()["text"].splitlines()
    figures = f"{percent(0.4)} of all entries predicted, {percent(0.03)} measured"
    assert first == f"orders: inverted:city: {figures}. too slow"
    assert link.endswith("/dags/apply/runs/scheduled__1")


def test_a_prediction_that_later_logs_refute_is_told_in_the_night_that_settles_it(
    dag_bag: Any, night: Night
) -> None:
    index = AdvisedIndex("inverted", ("city",), saving_ratio=0.6)
    entry = LedgerEntry("lineitem", BEGUN - timedelta(days=9), "ann", Event.APPLIED, index, "2026-11-10")
    add_entries(night.store, [entry], created_at=BEGUN, created_by="test")

    def logged(*savings: float) -> list[Any]:
        """Return the messages of a night whose report has these savings of the nights up to it."""
        days = [night.run_date - timedelta(days=i) for i in reversed(range(len(savings)))]
        later = tuple(LaterNight(day, each, None, 1.0) for day, each in zip(days, savings, strict=True))
        change = Afterwards("2026-11-10", date(2026, 11, 12), (), 0.6, Interval(0.5, 0.7), None, nights=later)
        case = replace(lineitem(), applied=AppliedAdvice((), 0, "", (change,)))
        aside = night.store.staged_write("reports", night.date_text)
        files = report_files(case).items()
        night.publish(
            "reports", {"lineitem": Part(tuple(aside.write_file("lineitem", *each) for each in files))}
        )
        return told(night)

    assert logged(0.6, 0.3) == []
    (message,) = logged(0.6, 0.3, 0.2)
    assert message.kind == "refuted"
    assert "later nights saved" in message.values()["text"]
    assert logged(0.6, 0.3, 0.2, 0.1) == [], "it was told the night before"


def test_names_of_logs_cannot_leave_their_line(dag_bag: Any, night: Night) -> None:
    advise(night, {HOSTILE: {"a": 0.9}})
    (message,) = told(night)
    values = message.values()
    assert "\r" not in values["text"] and "\n" not in values["subject"]
    assert len(values["text"].splitlines()) == 2
    assert "<img" not in values["html"]


def test_a_notifier_that_fails_is_a_warning_and_the_others_get_every_message(
    dag_bag: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from airflow.sdk import BaseNotifier
    from starskip.airflow.notifications import Message, send

    got = []

    class Keeping(BaseNotifier):
        template_fields = ("words",)

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

        def notify(self, context: Any) -> None:
            del context
            got.append(self.words)

    notifiers = [Keeping("{{ no.such.value }}"), Keeping("{{ starskip.kind }}: {{ starskip.subject }}")]
    for subject in ("one", "two {{ 1 }}"):
        send(notifiers, {}, Message("refuted", subject, [], "/"))
    assert got == ["refuted: one", "refuted: two {{ 1 }}"]
    assert "notify: warning: Keeping failed: " in capsys.readouterr().out


def test_a_notifier_that_hangs_is_given_up_and_the_others_are_asked(
    dag_bag: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk import BaseNotifier
    from starskip.airflow import notifications

    got = []

    class Hanging(BaseNotifier):
        def notify(self, context: Any) -> None:
            del context
            threading.Event().wait(60)

    class Keeping(BaseNotifier):
        def notify(self, context: Any) -> None:
            got.append(context["starskip"]["subject"])

    monkeypatch.setattr(notifications, "_LONGEST_SEND_SECONDS", 0.2)
    notifications.send([Hanging(), Keeping()], {}, notifications.Message("refuted", "one", [], "/"))
    assert got == ["one"]
    assert "notify: warning: Hanging failed: it took more than" in capsys.readouterr().out


def test_what_is_no_notifier_is_told_when_the_dag_is_read(dag_bag: Any) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    from starskip.airflow import index_advisor_dag

    for wrong in (SmtpNotifier, "slack"):
        with pytest.raises(ConfigError, match="is no notifier"):
            index_advisor_dag("night.yaml", notifiers=[wrong])


def test_a_link_without_a_host_is_shown_and_leads_nowhere(dag_bag: Any) -> None:
    from starskip.airflow.notifications import Message

    assert Message("refuted", "s", [], "/dags/a&b").values()["html"] == "<p>/dags/a&amp;b</p>"
    assert '<a href="https://a/dags/b">' in Message("refuted", "s", [], "https://a/dags/b").values()["html"]


def test_the_task_is_there_with_notifiers_alone_and_no_run_is_judged_by_it(dag_bag: Any) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    from airflow.serialization.serialized_objects import DagSerialization
    from starskip.airflow import index_advisor_apply_dag, index_advisor_dag

    for make, last in ((index_advisor_dag, "finish_night"), (index_advisor_apply_dag, "apply_table")):
        assert "notify" not in make("night.yaml").task_dict
        dag = make("night.yaml", notifiers=[SmtpNotifier(to="ops@example.com", subject="SECRET")])
        notify = dag.get_task("notify")
        assert notify.upstream_task_ids == {last}
        assert notify.is_teardown and not notify.on_failure_fail_dagrun
        assert notify.retries == 0
        assert "SECRET" not in json.dumps(DagSerialization.to_dict(dag))


def connection_to(server: MailServer) -> str:
    extra = {"disable_ssl": True, "disable_tls": True}
    return json.dumps({"conn_type": "smtp", "host": "127.0.0.1", "port": server.port, "extra": extra})


def test_airflows_notifier_sends_mail(dag_bag: Any, night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    from starskip.airflow.notifications import send

    notifier = SmtpNotifier(
        from_email="starskip@example.com",
        to="ops@example.com",
        subject="{{ starskip.subject }}",
        html_content="{{ starskip.html }}",
    )
    advise(night, {HOSTILE: {"a": 0.9}})
    outcome = stopped_night([HOSTILE], {"parse_query_logs": "no log"})
    with mail_server() as server:
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", connection_to(server))
        for each in told(night, outcome.problem(), problems=outcome.told()):
            send([notifier], {}, each)
    failed, stopped, advice = server.mails
    assert stopped["Subject"].startswith("Starskip: gates failed on lineitem") and stopped["Bcc"] is None
    assert failed["Subject"] == "Starskip: the night of 2026-11-20 failed"
    assert failed["To"] == "ops@example.com" and failed["Bcc"] is None
    assert advice["Subject"].startswith("Starskip: new advice on lineitem")
    assert advice["Bcc"] is None
    body = advice.get_body(("html",))
    assert body is not None
    assert "<img" not in body.get_content() and LINK in body.get_content()


DAG_FILE = """
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from starskip.airflow import index_advisor_dag

mail = SmtpNotifier(
    from_email="starskip@example.com",
    to="ops@example.com",
    subject="{{ starskip.subject }}",
    html_content="{{ starskip.html }}",
)
dag = index_advisor_dag("none.yaml", dag_id="nightly", notifiers=[mail])
"""


@pytest.mark.slow
def test_a_run_that_failed_stays_failed_and_mails_why(tmp_path: Path) -> None:
    """Airflow runs the whole DAG, whose first task already finds no configuration."""
    from starskip.airflow.airflow_environment import airflow_environment

    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "nightly.py").write_text(DAG_FILE)
    with mail_server() as server:
        environment = {
            **airflow_environment(tmp_path, os.environ, home=tmp_path / "home"),
            "AIRFLOW_CONN_SMTP_DEFAULT": connection_to(server),
        }
        for command in (["db", "migrate"], ["dags", "test", "nightly"]):
            airflow = [str(Path(sys.executable).with_name("airflow")), *command]
            ran = subprocess.run(airflow, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (mail,) = server.mails
    assert str(mail["Subject"]).startswith("Starskip: run manual__")
    body = mail.get_body(("html",))
    assert body is not None
    assert "none.yaml" in body.get_content()
    assert "http://127.0.0.1:8080/dags/nightly/runs/manual__" in body.get_content()
