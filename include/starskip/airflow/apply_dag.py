"""Approved index advice, applied to a running Pinot.

Applies what `starskip decide` has approved, one table at a time: the config is put, the newest segments are
reloaded and measured first, then all, and each shape of queries is asked before and after. A wrong answer, a
shape that scans or takes more, a segment that went bad or a reload without an end puts the old config back.
Nothing that was not approved is changed, and a config that somebody else changes meanwhile is never
overwritten.

| task | what it does |
|---|---|
| `approved_tables` | the tables with approved advice, and those whose application was cut short |
| `apply_table` | one table: forecast, put, canary, reload, proof, and the way back where it fails |

**What became of a table** is beside its name in the list of mapped tasks, and line by line in the task's log.
A table that is taken back fails no task; a table that cannot be applied fails its own alone.

**A run that was killed** at any point is gone on with, or taken back, by the next one.

**One table at a time**: `apply_table` runs once at a time in this DAG. A pool of one slot, whose name the DAG
file gives as `pool`, keeps other DAGs away, too: `airflow pools set index_advisor_apply 1 "One Pinot table at
a time"`.

**Where Pinot is**: the connections `pinot_controller_default` and `pinot_broker_default`.

**Params**: `tables`, if not all; `realtime_tables`, the REALTIME tables that may be reloaded, since a reload
commits their consuming segments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseNotifier, Param, get_current_context, task

from starskip.airflow.connections import Connections, PinotConnections
from starskip.airflow.nightly_dag import config_place
from starskip.airflow.notifications import apply_messages, notify_task
from starskip.airflow.progress_line import show_progress
from starskip.airflow.report_places import TAG
from starskip.airflow.task_failure import failing_at_once
from starskip.errors import ConfigError
from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

_USUAL = Connections()
_TASKS = {"owner": "starskip", "retries": 1, "retry_delay": timedelta(minutes=5)}
_NAMES: dict[str, Any] = {"type": ["null", "array"], "items": {"type": "string"}}
_END = "applied_end"
"""Key of the context under which a task leaves what became of its table, for its name in lists."""


def index_advisor_apply_dag(
    config: str | Path,
    *,
    dag_id: str = "index_advisor_apply",
    schedule: Any = "0 4 * * *",
    pool: str = "default_pool",
    connections: Connections = _USUAL,
    notifiers: Sequence[BaseNotifier] = (),
    default_args: Mapping[str, Any] | None = None,
    tags: Collection[str] = (),
    **dag_arguments: Any,
) -> DAG:
    """Return the DAG that applies approved advice; a DAG file keeps it in a variable.

    ``config``: the configuration of the nights that advise. ``schedule``: the window in which tables may be
    reloaded. ``notifiers``: what sends a message if a prediction was refuted. Other arguments are as in
    ``index_advisor_dag``.
    """
    place = config_place(config, Path(sys._getframe(1).f_code.co_filename).parent)
    arguments: dict[str, Any] = {
        "description": "Approved index advice, applied to a running Pinot and proved by replay",
        "doc_md": __doc__,
        "start_date": datetime(2026, 1, 1, tzinfo=UTC),
        "catchup": False,
        "max_active_runs": 1,
        **dag_arguments,
        "schedule": schedule,
        "params": {
            "tables": Param(None, description="Only these tables; all if left empty.", **_NAMES),
            "realtime_tables": Param(None, description="REALTIME tables that may be reloaded.", **_NAMES),
        },
        "default_args": {**_TASKS, **(default_args or {})},
        "tags": [TAG, "apply", *tags],
    }
    with DAG(dag_id, **arguments) as dag:
        tables = approved_tables(place, connections)
        applied = apply_table.override(pool=pool).partial(config=place, connections=connections)
        ends = applied.expand(table=tables)
        if notifiers:
            ends >> notify_task(
                notifiers,
                lambda context: apply_messages(context, lambda of: _night(of, place, connections)),
            )
    return dag


def _night(context: Any, config: str, connections: Connections) -> Night:
    from starskip.advisor.families.families import load_families
    from starskip.night.configuration.night_from_config import NightArguments, night_from_config

    connections.use(os.environ)
    now = datetime.now(UTC)
    asked = tuple(context["params"]["tables"] or ())
    arguments = NightArguments(now.date(), context["dag_run"].run_id, now, asked)
    night = night_from_config(config, arguments, os.environ)
    load_families(night.family_modules)
    return night


def _require_controller() -> None:
    from starskip.pinot.cluster.pinot_address import CONTROLLER

    if not os.environ.get(CONTROLLER):
        raise ConfigError(
            "Airflow has no connection pinot_controller_default, which says where Pinot is; see "
            "docs/live-pinot.md",
            setting=CONTROLLER,
        )


@task
def approved_tables(config: str, connections: Connections, **context: Any) -> list[str]:
    """Return the tables with something to do."""
    with needing_extra("pinot"):
        from starskip.advisor.deployment.apply_approved import approved_tables as found

    with failing_at_once(context):
        tables = found(_night(context, config, connections))
    show_progress(f"approved_tables: {', '.join(tables) or 'nothing is approved'}")
    return tables


@task(
    max_active_tis_per_dag=1,
    map_index_template=f"{{{{ task.op_kwargs['table'] }}}}{{{{ {_END} | default('') }}}}",
    show_return_value_in_logs=False,
)
def apply_table(config: str, connections: Connections, table: str, **context: Any) -> dict[str, Any]:
    """Apply what is approved for one table, and return what became of it."""
    with needing_extra("pinot"):
        from starskip.advisor.deployment.apply_approved import apply_approved

    def say(words: str) -> None:
        show_progress(f"{table}: {words}")

    with failing_at_once(context):
        night = _night(context, config, connections)
        PinotConnections().use(os.environ)
        _require_controller()
        realtime = context["params"]["realtime_tables"] or ()
        outcome = apply_approved(night, table, os.environ, say, realtime)
    for each in outcome.verdicts:
        say(f"{each['index']}: {each['verdict']}: {each['detail']}")
    say(f"{outcome.state}{f': {outcome.reason}' if outcome.reason else ''}")
    get_current_context()[_END] = f": {outcome.state}"  # type: ignore[literal-required]
    return outcome.to_json()
