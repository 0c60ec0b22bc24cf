"""Messages of the report pages in place of a page."""

from __future__ import annotations

from starskip.airflow.report_pages.nightly_dags import NightlyDag
from starskip.reports.render_pages import Message

NO_DAG_YET = Message(
    "No nightly DAG yet",
    "Airflow has read no DAG that index_advisor_dag made, or none that is sound. It reads a new file within "
    "minutes; this lists the files that it could not import:",
    ("airflow dags list-import-errors",),
)

NO_ADVICE = Message("No index advice", "Only runs of DAGs that index_advisor_dag made give advice.")


def no_night_yet(dag: NightlyDag) -> Message:
    """Return the message for a DAG without a published night."""
    return Message(
        "No night yet",
        f"Nothing is published in the artefacts that {dag.config} names. Start a night:",
        (f"airflow dags trigger {dag.dag_id}",),
    )
