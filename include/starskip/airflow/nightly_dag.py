"""Index advice for Pinot tables, every night.

Reads the broker logs and the segments of the day that has ended, works out which indexes would have saved
the most, and publishes one report a table. Nothing is changed in Pinot.

| task | what it does |
|---|---|
| `collect_segment_metadata` | tarred segments and table configs to facts about columns and indexes |
| `parse_query_logs` | logs of brokers and of Spark to queries; records that none explains are kept aside |
| `fit_latency_model` | how latency follows from entries scanned, if it does |
| `score_votes` | query shapes, and what each index would have saved them |
| `select_indexes` | the best set, how good it is, and why the others were refused |
| `build_star_trees` | the chosen star-trees, built from tables of the lake; what has not changed stays |
| `refresh_skipping_indexes` | the chosen skipping indexes of lake tables, of new and changed files |
| `refresh_secondary_indexes` | the chosen secondary indexes of lake tables, of new and changed files |
| `verify_indexes` | queries of the night, from what is built and by a scan: equal? read how much less? |
| `write_report` | one report a table: JSON, Markdown, HTML |
| `check_…` | a quality gate after each stage, table by table |
| `group_tables` | divides the tables into groups: from here on, each group has a chain of its own |
| `finish_night` | fails the run if a gate stopped a table or a stage failed, and says which and why |

**Groups** of tables go on alone, at most `scale.table_groups` of them: one that fails holds up no other. A
stage of a group with few queries runs in its task, without Spark; so do the first two stages where segments
and logs are small (settings `scale.local_…`).

**Gates** stop tables, not nights: a table that fails one is left out from there on and its last report
stays, the other tables go on, and the run ends as failed for it alone. Those behind `build_star_trees`,
`refresh_skipping_indexes`, `refresh_secondary_indexes` and `verify_indexes` keep no report back: the
advice stands, and the report says what failed.

**Backfills** advise and build nothing: what is built is current state, and the newest night's alone.

**Which night** a run is about: the param `run_date`; without it the day, by the log's zone, in which the
data interval starts, or the day before if that is not over when it ends. So the scheduled run of 02:00 is
about the day before, a backfill about each day that it names, and a manual run about the last complete day. A
run without a data interval is about the day before it. Running a night again replaces exactly that night.

**A run with other settings** than the configuration's is an experiment: its reports are marked and kept
beside the night's advice, and nothing is built. The param `publish` says otherwise: `yes` publishes all the
same, `no` keeps any run aside. Some tables alone, or another night, make no experiment.

**A day without a log** fails with that as its reason, publishes no advice and keeps what there is: a log that
was not delivered must not look like a quiet day. It does not hold up other days, and can be repeated alone.

**Old nights** are taken away by `finish_night`, queries sooner than advice (settings `retention`).

**Settings** come from the configuration that the DAG file names; params that are given lie over it.

Bad input (an unknown table, a missing folder) fails a task at once and says what to do; anything else is
tried once more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseNotifier, CronDataIntervalTimetable, TriggerRule, chain, task, task_group
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException

from starskip.advisor.run.stages import GROUPED, SHARED, stage_named
from starskip.airflow.advice_assets import advice_alias, tell_assets
from starskip.airflow.configured_form import configured_form, early_config
from starskip.airflow.connections import Connections
from starskip.airflow.night_request import night_request
from starskip.airflow.notifications import PROBLEMS, night_messages, notify_task
from starskip.airflow.progress_line import show_progress
from starskip.airflow.report_places import REPORTING, TAG
from starskip.airflow.spark_stage_operator import SparkStageOperator
from starskip.airflow.task_failure import (
    FAILURE,
    GROUPING,
    failing_at_once,
    failure_reasons,
    is_log_missing,
    run_tasks,
)
from starskip.number_text import some_names

# Airflow imports a DAG file anew every half a minute and before each task, and drops a DAG whose file takes
# too long: what reads and judges artefacts is imported by the task that does it.
if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

_LONGEST_LABEL = 250
"""Characters of Airflow's column rendered_map_index, which neither Airflow nor its database cuts."""
_WITHOUT_INTERVAL = ("@once", "@continuous")
_USUAL = Connections()
_TASKS = {
    "owner": "starskip",
    "retries": 1,
    "retry_delay": timedelta(seconds=30),
    # One run is active at a time: a job that hangs would hold up all nights after it, and nobody would hear.
    "execution_timeout": timedelta(hours=6),
}


def index_advisor_dag(
    config: str | Path,
    *,
    dag_id: str = "index_advisor_nightly",
    schedule: Any = "0 2 * * *",
    timezone: str = "UTC",
    spark_conn_id: str = "spark_default",
    store_conn_id: str = _USUAL.store,
    opensearch_conn_id: str = _USUAL.opensearch,
    keys_conn_id: str = _USUAL.keys,
    notifiers: Sequence[BaseNotifier] = (),
    pool: str | None = None,
    groups_at_once: int = 4,
    default_args: Mapping[str, Any] | None = None,
    tags: Collection[str] = (),
    **dag_arguments: Any,
) -> DAG:
    """Return the DAG that advises indexes every night; a DAG file keeps it in a variable.

    ``config``: the configuration of its nights, as a path or as the URL of an object. A relative path is
    beside the file that calls. ``schedule``: when it runs; a cron text, read in ``timezone``, has data
    intervals, and anything else is taken as Airflow's DAG takes it. ``notifiers``: what a task ``notify``
    sends messages by: of a night that failed, of tables that a gate stopped, of large new advice, of a
    prediction that was refuted; their templates find ``starskip.subject``, ``.text``, ``.html``, ``.link``
    and ``.kind``. ``pool``: Airflow's pool for the stages. ``groups_at_once``: how many groups of a run may
    be in the same stage at a time. ``default_args`` of its tasks lie over Starskip's, ``tags`` stand beside
    Starskip's, and ``dag_arguments`` are all others of Airflow's DAG, such as ``start_date`` or
    ``on_failure_callback``.
    """
    if isinstance(schedule, str) and schedule not in _WITHOUT_INTERVAL:
        # Airflow's own reading of a cron text has no data interval, by which a run knows its night.
        schedule = CronDataIntervalTimetable(schedule, timezone=timezone)
    place = config_place(config, Path(sys._getframe(1).f_code.co_filename).parent)
    early = early_config(place)
    connections = Connections(store_conn_id, opensearch_conn_id, keys_conn_id)
    arguments: dict[str, Any] = {
        "description": "Measured index advice for Pinot tables from last night's queries",
        "doc_md": __doc__,
        "start_date": datetime(2026, 1, 1, tzinfo=UTC),
        "catchup": False,
        "max_active_runs": 1,
        **dag_arguments,
        "schedule": schedule,
        "params": {**configured_form(early), **dag_arguments.get("params", {})},
        "default_args": {**_TASKS, **(default_args or {})},
        "tags": [TAG, "nightly", *tags],
        "user_defined_macros": {"some_names": some_names, **(dag_arguments.get("user_defined_macros") or {})},
    }
    with DAG(dag_id, **arguments) as dag:

        def chain_of(stages: Sequence[str], tables: Any = None, **limits: Any) -> list[Any]:
            steps: list[Any] = []
            for stage in stages:
                job = SparkStageOperator(
                    task_id=stage,
                    config=place,
                    connections=connections,
                    tables=tables,
                    report_source=early.report_source() if stage == REPORTING else None,
                    conn_id=spark_conn_id,
                    map_index_template=_group_name(tables, "task.tables"),
                    **limits,
                    **({"pool": pool} if pool else {}),
                )
                named = _group_name(tables, "task.op_kwargs.tables")
                outlets = [advice_alias(dag_id)] if stage == REPORTING else []
                check = check_tables.override(
                    task_id=f"check_{stage}", map_index_template=named, outlets=outlets, **limits
                )
                steps += [job, check(stage, place, connections, tables=tables)]
            chain(*steps)
            return steps

        @task_group(group_id="tables", prefix_group_id=False)
        def group(tables: Any) -> None:
            chain_of(GROUPED, tables, max_active_tis_per_dagrun=groups_at_once)

        groups = group_tables(place, connections)
        chain(chain_of(SHARED)[-1], groups)
        end = finish_night(place, connections)
        chain(group.expand(tables=groups), end)
        if notifiers:
            end >> notify_task(
                notifiers,
                lambda context: night_messages(context, lambda of: _night(of, place, connections)),
            )
        # Tasks find the DAG's params at run time. A copy in each would be checked and stored at each parse.
        for each in dag.tasks:
            each.params = ParamsDict()
    return dag


def config_place(config: str | Path, beside: Path) -> str:
    """Return a URL as it is, and a path as an absolute one: tasks run in other folders."""
    return config if isinstance(config, str) and ":/" in config else str(beside.absolute() / config)


def _group_name(tables: Any, known_as: str) -> str | None:
    """Return the template of what a group's task is called after in the pages; None for a task of no group.

    It needs only what a task knows before it runs: the name is wanted most of one that was killed.
    """
    return None if tables is None else f"{{{{ some_names({known_as})[:{_LONGEST_LABEL}] }}}}"


def _night(context: Any, config: str, connections: Connections, tables: Sequence[str] | None = None) -> Night:
    """Return the night of a run, with ``tables`` that of a group of its tables."""
    connections.use(os.environ)
    night = night_request(context, config).night(datetime.now(UTC))
    return replace(night, tables=frozenset(tables)) if tables else night


@task.short_circuit(ignore_downstream_trigger_rules=False)
def check_tables(
    stage: str, config: str, connections: Connections, tables: Sequence[str] | None, **context: Any
) -> bool:
    """Judge the tables behind ``stage``; False, which skips the rest of the chain, if none is left."""
    from starskip.airflow.night_outcome import failed_check
    from starskip.night.quality.check_stage import check_stage

    with failing_at_once(context):
        night = _night(context, config, connections, tables)
        verdicts = check_stage(night, stage)
        passed = [verdict.table for verdict in verdicts if verdict.passed]
        if stage == REPORTING and (told := tell_assets(context, night, passed)):
            show_progress(f"check_{stage}: assets with news {told}")
    show_progress(f"check_{stage}: {len(passed)} of {len(verdicts)} tables passed")
    for verdict in verdicts:
        if not verdict.passed:
            show_progress(f"check_{stage}: {verdict.table} is left out: {failed_check(verdict)}")
    return bool(passed) or not stage_named(stage).stops_report or stage == GROUPED[-1]


@task(task_id=GROUPING)
def group_tables(config: str, connections: Connections, **context: Any) -> list[list[str]]:
    """Return the tables that are left, in groups, and forget the night's advice on tables that are gone."""
    from starskip.night.table_groups import forget_gone_tables, table_groups

    with failing_at_once(context):
        night = _night(context, config, connections)
        groups = table_groups(night)
        forget_gone_tables(night, groups)
    for place, group in enumerate(groups):
        show_progress(f"{GROUPING}: group {place}: {', '.join(group)}")
    return groups


@task(trigger_rule=TriggerRule.ALL_DONE, retries=0)
def finish_night(config: str, connections: Connections, **context: Any) -> list[str]:
    """Return the tables that have a report; fail for a stage that failed or a table that was stopped."""
    from starskip.airflow.night_outcome import night_outcome
    from starskip.night.experiments import note_experiment, run_note
    from starskip.night.expire_snapshots import tidied_words
    from starskip.night.night_runs import note_run
    from starskip.night.stored_note import stored_words

    with failing_at_once(context):
        night = _night(context, config, connections)
        tasks = run_tasks(context)
        outcome = night_outcome(night, failure_reasons(context, tasks), tasks.succeeded)
        no_log = is_log_missing(context, tasks)
        note_run(night, outcome.problem(), outcome.night_problem(), is_log_missing=no_log)
        if problem := outcome.problem():
            # Before the store is tidied, which takes long: a message must not wait for it.
            context["ti"].xcom_push(key=FAILURE, value=problem)
            context["ti"].xcom_push(key=PROBLEMS, value=outcome.told())
        if night.is_experiment:
            note_experiment(night, outcome.reported)
        elif outcome.reported:
            for words in (*tidied_words(night), *stored_words(night)):
                show_progress(f"finish_night: {words}")
    if problem:
        raise AirflowFailException(problem)
    kept = "kept beside the night's advice" if night.is_experiment else "published"
    if note := run_note(night):
        show_progress(f"finish_night: {note}")
    show_progress(f"finish_night: reports of {some_names(outcome.reported, 20)} are {kept}")
    return list(outcome.reported)
