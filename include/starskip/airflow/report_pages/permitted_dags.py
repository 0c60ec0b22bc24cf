"""Permission to read and to decide: the nightly DAGs whose reports a request may see, and whose advice.

Airflow checks no permission for an application that a plugin mounts. Whoever may read a DAG may read its
reports, and nobody else learns even which reports there are. Deciding asks for Airflow's own right to answer
approvals.
"""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, HTTPException, Request

from starskip.airflow.report_pages.asked_night import night_date, with_experiment
from starskip.airflow.report_pages.nightly_dags import NightlyDag, nightly_dags
from starskip.errors import MissingSource
from starskip.reports.page_links import is_page_name

DECIDING = Depends(requires_access_dag("PUT", DagAccessEntity.HITL_DETAIL))
"""The permission that a route asks for which decides."""


def permitted_dags(request: Request, user: GetUserDep, session: SessionDep) -> list[NightlyDag]:
    """Return the DAGs that the user may read; raise HTTPException if there are none.

    Where Airflow knows no nightly DAG yet, whoever may read DAGs at all gets an empty list.
    """
    known = nightly_dags(session)
    found = [each for each in known if is_permitted("GET", None, each.dag_id, request, user)]
    if known and not found:
        raise HTTPException(403)
    # PostgreSQL takes no NUL in a text, and no name of Airflow's has one.
    if any("\0" in str(value) for value in request.path_params.values()):
        raise HTTPException(404)
    if not known:
        requires_access_dag("GET")(request, user)
    return found


def is_permitted(
    method: ResourceMethod, entity: DagAccessEntity | None, dag_id: str, request: Request, user: BaseUser
) -> bool:
    """Return whether Airflow permits the user this method on that part of a DAG; None: on the DAG itself."""
    try:
        requires_access_dag(method, entity, param_dag_id=dag_id)(request, user)
    except HTTPException:
        return False
    return True


PermittedDags = Annotated[list[NightlyDag], Depends(permitted_dags)]
"""The DAGs that a request may read, as an argument of a route."""


def asked_dag(request: Request, dag_id: str, dags: PermittedDags) -> NightlyDag:
    """Return the DAG that an address names, and its experiment; raise HTTPException if there is none.

    What is not there and what may not be read look the same.
    """
    found = next((each for each in dags if each.dag_id == dag_id), None)
    if found is None:
        raise HTTPException(404)
    if name := request.path_params.get("experiment"):
        if not is_page_name(name):
            raise HTTPException(404)
        found = with_experiment(found, night_date(request.path_params["run_date"]), name)
        if found.experiment is None:
            raise MissingSource(f"there is no experiment {name} of this night", source=name)
    return found


AskedDag = Annotated[NightlyDag, Depends(asked_dag)]
"""The DAG that an address names, as an argument of a route."""


def may_decide(dag_id: str, request: Request, user: GetUserDep) -> bool:
    """Return whether the user may decide on the advice of a DAG: only then are there forms for it."""
    return is_permitted("PUT", DagAccessEntity.HITL_DETAIL, dag_id, request, user)


MayDecide = Annotated[bool, Depends(may_decide)]
"""True if the user of a request may decide; an argument of a route below a DAG's name."""
