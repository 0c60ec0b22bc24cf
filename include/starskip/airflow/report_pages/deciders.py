"""Permission to decide on advice: Airflow's own right to answer approvals, apart from reading."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, Request

from starskip.airflow.report_pages.permitted_dags import is_permitted

DECIDING = Depends(requires_access_dag("PUT", DagAccessEntity.HITL_DETAIL))
"""The permission that a route asks for which decides."""


def may_decide(dag_id: str, request: Request, user: GetUserDep) -> bool:
    """Return whether the user may decide on the advice of a DAG: only then are there forms for it."""
    return is_permitted("PUT", DagAccessEntity.HITL_DETAIL, dag_id, request, user)


MayDecide = Annotated[bool, Depends(may_decide)]
"""True if the user of a request may decide; an argument of a route below a DAG's name."""
