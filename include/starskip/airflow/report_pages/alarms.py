"""Say on the pages which part of Airflow has stopped: what a reader asks for would wait in silence."""

from __future__ import annotations

from airflow.api.common.airflow_health import UNHEALTHY, get_airflow_health

_PARTS = {
    "scheduler": ("scheduler", "no run begins and none goes on"),
    "dag_processor": ("DAG processor", "no changed configuration or DAG file is read"),
}


def alarms() -> tuple[str, ...]:
    """Return a sentence for each part of Airflow that gives no sign of life, for the top of a page."""
    health = get_airflow_health()
    return tuple(
        _sentence(name, health[part].get(f"latest_{part}_heartbeat"), meanwhile)
        for part, (name, meanwhile) in _PARTS.items()
        if health[part]["status"] == UNHEALTHY
    )


def _sentence(name: str, heartbeat: str | None, meanwhile: str) -> str:
    since = f"since {heartbeat[:16].replace('T', ' ')} UTC" if heartbeat else "yet"
    return f"Airflow's {name} has given no sign of life {since}: {meanwhile}."
