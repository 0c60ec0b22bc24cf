"""Tell what other sets of indexes would save, from the votes that a night has kept; approve one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Query, Request, Response

from starskip.advisor.deployment.advised_change import newest_advice
from starskip.advisor.deployment.change_of_set import change_of_set
from starskip.advisor.ledger.decisions import Decision, decide
from starskip.advisor.ledger.entry import Event
from starskip.advisor.selection.other_sets import OtherSets
from starskip.advisor.selection.stored_question import stored_question
from starskip.advisor.selection.vote_list import IndexSet
from starskip.airflow.report_pages.answers import links_of, message_answer, page_answer
from starskip.airflow.report_pages.asked_night import night_date, stored_night
from starskip.airflow.report_pages.changes import PostedForm, see_other
from starskip.airflow.report_pages.decide_pages import (
    refusal,
    require_applicable,
    require_newest,
    unwritten,
    write_audit_log,
)
from starskip.airflow.report_pages.permitted_dags import DECIDING, AskedDag, MayDecide
from starskip.airflow.report_pages.route import READING, Text, page_name_of
from starskip.errors import ConfigError, StarskipError, printable
from starskip.reports.published_reports import published_table
from starskip.reports.render_what_if import AskedSet, render_what_if, what_if_answer

_PATH = "/dags/{dag_id}/tables/{name}/{run_date}/what-if"
_Keys = Annotated[list[Annotated[str, Query(max_length=40)]], Query(max_length=200)]

router = APIRouter()


@router.api_route(_PATH, methods=READING)
def what_if(
    request: Request,
    dag: AskedDag,
    may_decide: MayDecide,
    name: str,
    run_date: str,
    ask: Text = "",
    index: _Keys = [],  # noqa: B006 - FastAPI copies it
    k: Text = "",
    budget: Text = "",
) -> Response:
    """Return what a set saves: the advised one, the ticked one, or the best of other terms."""
    night = stored_night(dag, night_date(run_date))
    table = published_table(night, page_name_of(name))
    found = what_if_answer(night, table, AskedSet(ask, tuple(index), k.strip(), budget.strip()))
    links = links_of(request, dag)
    is_standing = dag.experiment is None and not newest_advice(night.store, table, after=night.date_text)
    shown = render_what_if(
        links,
        table,
        night.run_date,
        found,
        may_decide=may_decide and is_standing,
        lacks_right=is_standing and not may_decide,
    )
    return page_answer(shown, 422 if found.problem else 200)


@router.post(_PATH, dependencies=[DECIDING])
def approve_set(
    request: Request,
    dag: AskedDag,
    user: GetUserDep,
    session: SessionDep,
    name: str,
    run_date: str,
    form: PostedForm,
) -> Response:
    """Approve a set in place of the advised one."""
    night = stored_night(dag, night_date(run_date))
    table = published_table(night, page_name_of(name))
    require_newest(night, table)
    sets = OtherSets(stored_question(night, table))
    indexes = ticked(sets, form.get("index", ()))
    who = printable(user.get_name(), 100)
    source = f"{night.date_text} what-if of {who}, {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    advice = change_of_set(table, source, sets, indexes)
    links = links_of(request, dag)
    try:
        require_applicable(advice)
        entries = decide(night.store, advice, Decision(Event.APPROVED, who))
    except StarskipError as error:
        return message_answer(request, unwritten(error, table), 503, links)
    write_audit_log(session, dag.dag_id, entries)
    return see_other(links.decided(table, night.date_text, Event.APPROVED.value))


def ticked(sets: OtherSets, keys: Sequence[str]) -> IndexSet:
    """Return the set that a form ticks; raises HTTPException for one that cannot be approved."""
    if not keys:
        raise refusal("choose at least one index")
    try:
        indexes = sets.of_keys(keys)
        sets.require_possible(indexes)
    except ConfigError as error:
        raise refusal(f"load the page again: {error}", 409) from None
    return indexes
