"""Messages about a run, by the notifiers that a DAG file gives: one a kind and run, each with its link.

Names in a message come from logs, where anyone can write them: a subject is one line, ``html`` is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier, task
from airflow.sdk.configuration import conf as airflow_conf
from airflow.sdk.exceptions import AirflowTaskTimeout
from airflow.sdk.execution_time.timeout import timeout

from starskip.airflow.advice_assets import is_older
from starskip.airflow.progress_line import show_progress
from starskip.airflow.report_places import run_page, run_reports
from starskip.airflow.task_failure import FAILURE
from starskip.errors import ConfigError, StarskipError, printable
from starskip.number_text import percent

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

PROBLEMS = "problems"
"""XCom key under which finish_night leaves what failed, one by one, as ``NightOutcome.told``."""

_MOST_LINES = 10
_LONGEST_LINE = 400
_LONGEST_SUBJECT = 150
_LONGEST_SEND_SECONDS = 60
_TOO_LONG = f"it took more than {_LONGEST_SEND_SECONDS} s"


@dataclass(frozen=True, slots=True)
class Message:
    """A message; ``kind``: failed_night, stopped_table, new_advice or refuted."""

    kind: str
    subject: str
    lines: Sequence[str]
    link: str

    def values(self) -> dict[str, str]:
        """Return what templates find as ``starskip``."""
        shown = [printable(each, _LONGEST_LINE) for each in self.lines[:_MOST_LINES]]
        if len(self.lines) > _MOST_LINES:
            shown.append(f"and {len(self.lines) - _MOST_LINES} more")
        return {
            "kind": self.kind,
            "subject": printable(self.subject, _LONGEST_SUBJECT),
            "text": "\n".join([*shown, self.link]),
            "html": "".join(f"<p>{each}</p>" for each in [*map(escape, shown), _anchor(self.link)]),
            "link": self.link,
        }


def notify_task(notifiers: Sequence[BaseNotifier], messages: Callable[[Any], Iterator[Message]]) -> Any:
    """Return a task for the end of a DAG that sends the ``messages`` of its run.

    It is a teardown, which Airflow runs whatever came before, and by which it judges no run. Raises
    ConfigError for what is no notifier, such as its class.
    """
    for each in notifiers:
        if isinstance(each, type) or not callable(each):
            raise ConfigError(
                f"notifiers: {printable(repr(each), 100)} is no notifier: make one, as SmtpNotifier(...)",
                setting="notifiers",
            )

    @task(task_id="notify", retries=0)
    def notify(**context: Any) -> list[str]:
        """Send the messages of this run."""
        if _base_url() == "/":
            show_progress("notify: warning: links are without a host: set base_url in Airflow's [api]")
        return [send(notifiers, context, each) for each in messages(context)]

    return notify().as_teardown()


def send(notifiers: Sequence[BaseNotifier], context: Any, message: Message) -> str:
    """Send a message by each notifier, and return its subject; one that fails is a warning."""
    values = message.values()
    for each in notifiers:
        name = type(each).__name__
        try:
            # A notifier puts what it renders in the place of its templates, and these into the context.
            # One that hangs would keep its run from ending, and all later nights waiting.
            with timeout(_LONGEST_SEND_SECONDS, _TOO_LONG):  # type: ignore[no-untyped-call]
                copy(each)({**context, "starskip": values})
            show_progress(f"notify: {name}: {values['subject']}")
        except (Exception, AirflowTaskTimeout) as error:
            show_progress(f"notify: warning: {name} failed: {printable(str(error), _LONGEST_LINE)}")
    return values["subject"]


def night_messages(context: Any, night_of: Callable[[Any], Night]) -> Iterator[Message]:
    """Yield the messages about a night: none of a backfill, only failures of an experiment or old night."""
    from starskip.advisor.families.families import load_families
    from starskip.night.new_advice import new_advice
    from starskip.reports.applied_of_table import refuted_tonight

    run = context["dag_run"]
    if run.run_type == "backfill":
        return
    link = run_reports(_base_url(), run.dag_id, run.run_id)
    try:
        night = night_of(context).read_once()
    except StarskipError:
        night = None
    if problem := context["ti"].xcom_pull(task_ids="finish_night", key=FAILURE):
        what = f"the night of {night.date_text}" if night else f"run {run.run_id}"
        what = f"an experiment about {what}" if night and night.is_experiment else what
        told = context["ti"].xcom_pull(task_ids="finish_night", key=PROBLEMS)
        yield from _problems(told or {"failures": [problem], "tables": {}}, what, link)
    if night is None or night.is_experiment or is_older(night):
        return
    load_families(night.family_modules)
    if found := new_advice(night):
        tables = _tables([each.table for each in found])
        subject = f"Starskip: new advice on {tables}, night of {night.date_text}"
        lines = [
            f"{each.table}: {len(each.indexes)} new, saving {percent(each.saving_ratio)} of all entries: "
            f"{', '.join(index.name for index in each.indexes)}"
            for each in found
        ]
        yield Message("new_advice", subject, lines, link)
    yield from _refuted([*_taken_back(night, run.start_date), *refuted_tonight(night)], link)


def _problems(told: Mapping[str, Any], what: str, link: str) -> Iterator[Message]:
    if told["failures"]:
        yield Message("failed_night", f"Starskip: {what} failed", told["failures"], link)
    if told["tables"]:
        lines = [f"{table} {words}" for table, words in told["tables"].items()]
        tables = _tables(list(told["tables"]))
        yield Message("stopped_table", f"Starskip: gates failed on {tables}, {what}", lines, link)


def apply_messages(context: Any, night_of: Callable[[Any], Night]) -> Iterator[Message]:
    """Yield the message about a run of the DAG that applies advice, if a prediction was refuted."""
    run = context["dag_run"]
    link = run_page(_base_url(), run.dag_id, run.run_id)
    yield from _refuted(_taken_back(night_of(context), run.start_date), link)


def _taken_back(night: Night, since: datetime) -> list[tuple[str, str]]:
    """Return the tables of advice that the ledger has as refuted ``since`` then, each with the figures."""
    from starskip.advisor.ledger.entry import Event
    from starskip.advisor.ledger.ledger import ledger_entries

    return [
        (
            each.table,
            f"{each.index.name}: {_share(each.index.saving_ratio)} of all entries predicted, "
            f"{_share(each.measured_saving_ratio)} measured. {each.reason}",
        )
        for each in ledger_entries(night.store)
        if each.event is Event.REFUTED and each.at >= since and night.wants(each.table)
    ]


def _refuted(found: Sequence[tuple[str, str]], link: str) -> Iterator[Message]:
    if found:
        tables = _tables(list(dict.fromkeys(table for table, _ in found)))
        lines = [f"{table}: {words}" for table, words in found]
        yield Message("refuted", f"Starskip: predictions on {tables} were refuted", lines, link)


def _base_url() -> str:
    return str(airflow_conf.get("api", "base_url", fallback="/"))


def _anchor(link: str) -> str:
    if link.startswith("/"):
        return escape(link)  # a mail has no host that it could be of
    return f'<a href="{escape(link)}">{escape(link)}</a>'


def _tables(tables: Sequence[str]) -> str:
    return printable(tables[0], 60) if len(tables) == 1 else f"{len(tables)} tables"


def _share(ratio: float | None) -> str:
    return "no share" if ratio is None else percent(ratio)
