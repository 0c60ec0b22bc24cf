"""Run the nightly DAG over a made-up cluster of 200 tables in a real Airflow on PostgreSQL; print its cost.

Scheduler, DAG processor, API server and a local executor of four tasks run as ``make ui`` starts them. The
night's own work is kept small: small segments, a short log, few simulations, no star-trees. Two things go
wrong: each try of ``score_votes`` is killed for one group, as a kernel out of memory does, and the queries of
one table of another group are damaged after its gate. All other tables must have reports; exit code 1 if
they have not.

    make bench-airflow ARGS="--tables 200 --segments 400 --records 20000 --keep DIR"
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "cluster"))

from airflow_on_postgres import RunningAirflow, airflow_on_postgres, wait_until
from made_up_cluster import nights, write_cluster
from made_up_tables import ClusterSize
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

_DAG = "index_advisor_nightly"
_DAG_FILE = """from starskip.airflow import index_advisor_dag

dag = index_advisor_dag(config={config!r}, schedule=None, is_paused_upon_creation=False)
"""
_SMALL = """settings:
  scoring: {window_rows_per_table: 256, max_simulations_per_table: 10}
  advice: {index_kinds: "inverted,range,sorted"}
"""
_KILLED_GROUP, _KILLED_TASK = 0, "score_votes"
_RUN_SECONDS = 7_200
_LOOK_S = 1.0
_FRESH = "import sys, time; t = time.time(); exec(open(sys.argv[1]).read()); print(time.time() - t)"
_STATES = """select task_id, map_index, state, pid, rendered_map_index,
    extract(epoch from end_date - start_date) from task_instance where dag_id = %s"""


def main() -> None:
    """Write a cluster, run a night over it in Airflow, and print what it took and how it ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--segments", type=int, default=400, help="segments of all tables")
    parser.add_argument("--records", type=int, default=20_000, help="log records of the night")
    parser.add_argument(
        "--port", type=int, default=18_600, help="of Airflow's page; the next is PostgreSQL's"
    )
    parser.add_argument("--keep", type=Path, help="folder that keeps cluster, logs and reports")
    given = parser.parse_args()
    # Whoever ends it ends its servers, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    size = ClusterSize(given.tables, given.segments, given.records)
    with nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory() as root:
        folder = Path(root).resolve()
        write_cluster(folder / size.name, size)
        config = folder / size.name / "night.yaml"
        if _SMALL not in config.read_text(encoding="utf-8"):
            with config.open("a", encoding="utf-8") as written:
                written.write(_SMALL)
        (folder / "dags").mkdir(exist_ok=True)
        dag_file = folder / "dags" / "nightly_dag.py"
        dag_file.write_text(_DAG_FILE.format(config=str(config)), encoding="utf-8")
        print(f"{size.tables:,} tables, {size.segments:,} segments, {size.records:,} records", flush=True)
        with airflow_on_postgres(folder, given.port) as airflow:
            _print_parsed(airflow, dag_file)
            damaged, groups = _run(airflow, config.parent)
            is_well = _print_run(airflow, config.parent, groups, damaged)
    raise SystemExit(not is_well)


def _print_parsed(airflow: RunningAirflow, dag_file: Path) -> None:
    parsed = "select last_parse_duration from dag where dag_id = %s and last_parse_duration is not null"
    ((seconds,),) = wait_until(lambda: airflow.rows(parsed, _DAG), 300, "the DAG")
    fresh = subprocess.run(
        [sys.executable, "-c", _FRESH, dag_file],
        env=dict(airflow.environment),
        capture_output=True,
        text=True,
    )
    ((stored,),) = airflow.rows("select octet_length(data::text) from serialized_dag where dag_id = %s", _DAG)
    print(
        f"DAG file: parsed in {seconds:.2f} s by the DAG processor, "
        f"{float(fresh.stdout):.2f} s by a fresh Python; stored in {stored / 1024:.0f} KiB",
        flush=True,
    )


def _run(airflow: RunningAirflow, cluster: Path) -> tuple[str, Sequence[Sequence[str]]]:
    """Run the night, and do the damage; return the damaged table and the groups of the others."""
    before = _database_mib(airflow)
    began = time.monotonic()
    airflow.command("dags", "trigger", _DAG, "--conf", f'{{"run_date": "{nights()[0]}"}}')
    groups: Sequence[Sequence[str]] = ()
    damaged = ""
    killed: set[int] = set()
    while _state(airflow) not in ("success", "failed"):
        if time.monotonic() - began > _RUN_SECONDS:
            raise TimeoutError(f"the run has not ended in {_RUN_SECONDS} s")
        time.sleep(_LOOK_S)
        if not groups and (groups := _groups(airflow)):
            damaged = groups[-1][0]
            _damage(cluster, damaged)
            print(f"group_tables after {time.monotonic() - began:.0f} s", flush=True)
        for task, place, state, pid, name, _ in airflow.rows(_STATES, _DAG):
            is_doomed = (task, place, state) == (_KILLED_TASK, _KILLED_GROUP, "running")
            if is_doomed and pid and name and pid not in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                killed.add(pid)
    after = _database_mib(airflow)
    print(
        f"run: {time.monotonic() - began:.0f} s; {len(killed)} processes of {_KILLED_TASK} were killed; "
        f"database {before:.1f} MiB before, {after:.1f} MiB after"
    )
    return damaged, groups


def _state(airflow: RunningAirflow) -> str:
    rows = airflow.rows("select state from dag_run where dag_id = %s", _DAG)
    return str(rows[0][0]) if rows else ""


def _groups(airflow: RunningAirflow) -> list[list[str]]:
    query = "select value from xcom where dag_id = %s and task_id = 'group_tables' and key = 'return_value'"
    rows = airflow.rows(query, _DAG)
    return list(rows[0][0]) if rows else []


def _damage(cluster: Path, table: str) -> None:
    """Cut the file of the table's queries, which its gate has passed."""
    snapshot = _store(cluster).snapshot("queries", nights()[0].isoformat())
    assert snapshot is not None
    (file, *_) = snapshot.parts()[table].files
    (path,) = (cluster / "artefacts" / "queries").rglob(Path(file.name).name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _print_run(airflow: RunningAirflow, cluster: Path, groups: Sequence[Sequence[str]], damaged: str) -> bool:
    """Print what the run took and left; return whether all tables have reports but those that may not."""
    tasks = airflow.rows(_STATES, _DAG)
    seconds = [float(each[5]) for each in tasks if each[5] is not None]
    states = Counter(str(each[2]) for each in tasks)
    counted = ", ".join(f"{count} {state}" for state, count in states.most_common())
    print(
        f"{len(tasks)} task instances in {len(groups)} groups: {counted}; {sum(seconds):.0f} s of tasks, "
        f"median {statistics.median(seconds):.1f} s"
    )
    _print_by_task(tasks)
    named = sum(1 for each in tasks if each[1] >= 0 and each[4] and each[4] != str(each[1]))
    print(f"{named} instances are called after their tables")
    peaks = ", ".join(f"{role} {peak >> 20}" for role, peak in airflow.peak_bytes.most_common())
    print(f"peak MiB of one process: {peaks}")
    failures = "select task_id, map_index, value from xcom where dag_id = %s and key = 'failure'"
    for task, place, words in airflow.rows(failures, _DAG):
        print(f"{task} {place}: {words}")
    snapshot = _store(cluster).snapshot("reports", nights()[0].isoformat())
    parts = snapshot.parts() if snapshot else {}
    reported = {table for table, part in parts.items() if part.files}
    without = {table for group in groups for table in group} - reported
    print(f"{len(reported)} reports; without one: {', '.join(sorted(without))}")
    return without == {damaged, *groups[_KILLED_GROUP]}


def _print_by_task(tasks: Sequence[Sequence[Any]]) -> None:
    by_task: dict[str, list[float]] = {}
    for task, *_, seconds in tasks:
        if seconds is not None:
            by_task.setdefault(task, []).append(float(seconds))
    for task, spent in sorted(by_task.items(), key=lambda each: -sum(each[1])):
        print(f"    {task:34} {len(spent):4} {sum(spent):8.1f} s, median {statistics.median(spent):6.1f} s")


def _database_mib(airflow: RunningAirflow) -> float:
    ((size,),) = airflow.rows("select pg_database_size(current_database())")
    return float(size) / (1 << 20)


def _store(cluster: Path) -> ArtefactStore:
    return ArtefactStore(storage_for(str(cluster / "artefacts")))


if __name__ == "__main__":
    main()
