"""The nightly DAGs as Airflow's database has them, each with what its file said about its reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.models.dag import DagModel, DagTag
from airflow.models.serialized_dag import SerializedDagModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from starskip.airflow.report_places import REPORTING, TAG
from starskip.night.experiments import ExperimentRun


@dataclass(frozen=True, slots=True)
class NightlyDag:
    """One nightly DAG: its configuration, and the store of its nights with the tables that are configured.

    ``store`` is empty where only the configuration names it, or where that could not be read (``problem``).
    ``time_zone``: of the log; empty where only the configuration names it.
    ``experiment``: the experiment that is asked for, whose night is read in place of the night's advice.
    """

    dag_id: str
    config: str
    store: str = ""
    tables: tuple[str, ...] = ()
    problem: str = ""
    time_zone: str = ""
    experiment: ExperimentRun | None = None


def nightly_dags(session: Session) -> list[NightlyDag]:
    """Return the nightly DAGs by their names; those that Airflow has taken away are not among them."""
    tagged = (
        select(DagTag.dag_id)
        .join(DagModel, DagModel.dag_id == DagTag.dag_id)
        .where(DagTag.name == TAG, DagModel.is_stale.is_(False))
    )
    dag_ids = sorted(session.scalars(tagged))
    stored = (
        SerializedDagModel.get_latest_serialized_dags(dag_ids=dag_ids, session=session) if dag_ids else []
    )
    sources = {each.dag_id: _report_source(each.data) for each in stored}
    return [_nightly_dag(dag_id, source) for dag_id in dag_ids if (source := sources.get(dag_id))]


def _report_source(data: Any) -> Mapping[str, Any] | None:
    """Return the field of the task that publishes reports; None for another DAG of the same tag."""
    tasks = (each.get("__var", each) for each in data["dag"]["tasks"])
    return next((task.get("report_source") for task in tasks if task.get("task_id") == REPORTING), None)


def _nightly_dag(dag_id: str, source: Mapping[str, Any]) -> NightlyDag:
    return NightlyDag(
        dag_id,
        source["config"],
        source.get("store", ""),
        tuple(source.get("tables", ())),
        source.get("problem", ""),
        source.get("time_zone", ""),
    )
