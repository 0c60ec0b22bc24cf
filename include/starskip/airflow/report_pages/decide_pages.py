"""Decide on the advice of one table and night, by the same code as ``starskip decide``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.log import Log
from fastapi import APIRouter, HTTPException, Request, Response

from starskip.advisor.deployment.advised_change import change_of_night, newest_advice
from starskip.advisor.families.families import named
from starskip.advisor.ledger.advised_index import AdvisedChange
from starskip.advisor.ledger.decisions import MAX_REASON, Decision, decide, may_wait_for
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.run.night import Night
from starskip.airflow.report_pages.answers import links_of, message_answer
from starskip.airflow.report_pages.asked_night import night_date, stored_night
from starskip.airflow.report_pages.changes import Form, PostedForm, field_of, see_other
from starskip.airflow.report_pages.permitted_dags import DECIDING, AskedDag
from starskip.airflow.report_pages.route import page_name_of
from starskip.errors import StarskipError, printable
from starskip.reports.published_reports import published_table
from starskip.reports.render_pages import Message

EVENTS = {"approve": Event.APPROVED, "reject": Event.REJECTED, "defer": Event.DEFERRED}

router = APIRouter()


@router.post("/dags/{dag_id}/tables/{name}/{run_date}/decide", dependencies=[DECIDING])
def decide_on(
    request: Request,
    dag: AskedDag,
    user: GetUserDep,
    session: SessionDep,
    name: str,
    run_date: str,
    form: PostedForm,
) -> Response:
    """Write a decision to the ledger, and show the table's page again."""
    night = stored_night(dag, night_date(run_date))
    table = published_table(night, page_name_of(name))
    decision = asked_decision(form, user.get_name())
    advice = change_of_night(night, table)
    names = _asked_names(form, advice)
    require_newest(night, table)
    links = links_of(request, dag)
    try:
        if decision.event is Event.APPROVED:
            require_applicable(advice)
        entries = decide(night.store, advice, decision, names)
    except StarskipError as error:
        return message_answer(request, unwritten(error, table), 503, links)
    write_audit_log(session, dag.dag_id, entries)
    return see_other(links.decided(table, night.date_text, decision.event.value))


def asked_decision(form: Form, who: str) -> Decision:
    """Return the decision that a form asks for; raises HTTPException with what is wrong in it."""
    event = EVENTS.get(field_of(form, "action"))
    if event is None:
        raise refusal("say whether to approve, to reject or to defer")
    reason = field_of(form, "reason")
    until = _day(field_of(form, "until")) if event is Event.DEFERRED else None
    if event is Event.REJECTED and not reason:
        raise refusal("say why the advice is rejected: others will ask")
    if len(reason) > MAX_REASON:
        raise refusal(f"give a reason of at most {MAX_REASON} characters")
    return Decision(event, who, reason, until)


def refusal(words: str, status: int = 422) -> HTTPException:
    """Return the error of a form that cannot be followed; the words go on a sentence."""
    return HTTPException(status, Message("Nothing was decided", f"Go back, and {words}."))


def require_newest(night: Night, table: str) -> None:
    """Raise HTTPException if there is newer advice on the table: it is that one which one decides on."""
    if newer := newest_advice(night.store, table, after=night.date_text):
        words = f"decide on the newer advice of {newer}: that of {night.date_text} is out of date"
        raise refusal(words, 409)


def unwritten(error: StarskipError, table: str) -> Message:
    """Return what to tell where the ledger cannot be written by Airflow's API server."""
    return Message(
        "Nothing was decided",
        f"{error}. A user who may write to the store can decide by command:",
        (f"starskip decide {printable(table, 100)} --approve --config FILE",),
    )


def write_audit_log(session: SessionDep, dag_id: str, entries: Sequence[LedgerEntry]) -> None:
    """Write what was decided to Airflow's audit log, too."""
    first = entries[0]
    told: Mapping[str, object] = {
        "table": printable(first.table, 200),
        "indexes": [printable(each.index.name, 200) for each in entries][:50],
        "advice": printable(first.source, 200),
        "reason": first.reason,
        "until": first.until.isoformat() if first.until else None,
    }
    event = f"index_advice_{first.event.value}"
    session.add(
        Log(
            event,
            task_instance=None,
            owner=first.who,
            owner_display_name=first.who,
            extra=json.dumps(told),
            dag_id=dag_id,
        )
    )


def _asked_names(form: Form, advice: AdvisedChange) -> list[str]:
    """Return the names of the indexes that a form ticks; raises HTTPException if the advice has changed."""
    by_key = {each.key: each.name for each in advice.indexes}
    keys = form.get("index", ())
    if not keys:
        raise refusal("choose at least one index")
    if any(key not in by_key for key in keys):
        raise refusal("load the page again: the advice has changed since it was shown", 409)
    found = list(dict.fromkeys(by_key[key] for key in keys))
    return [] if len(found) == len(by_key) else found  # without a name, all of the advice is meant


def require_applicable(advice: AdvisedChange) -> None:
    """Raise StarskipError for an index whose config only a module of its user's own knows."""
    for each in advice.indexes:
        if not each.config and named(each.family) is None:
            raise StarskipError(
                f"indexes of family {printable(each.family, 80)} are of a module that Airflow's API server "
                "does not load"
            )


def _day(text: str) -> date:
    """Return the day of a field; raises HTTPException unless it lies ahead, by at most ten years."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise refusal("name the day until which to defer, such as 2027-01-10") from None
    if not may_wait_for(day, datetime.now(UTC).date()):
        raise refusal("defer until a day that lies ahead, by at most ten years")
    return day
