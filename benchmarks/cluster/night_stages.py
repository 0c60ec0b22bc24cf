"""One stage of a night and its gate, each in a process of its own as Airflow runs them, and what they took.

Spark's driver has 1 GiB and results of at most 16 MiB. Spark's event log tells what executors sent to it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from standalone import SparkMaster
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.submitting_process import SUBMITTED_BY
from watched_process import DRIVER, JVM, WORKER, Watched, watched

_SPARK = {
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "16m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
_GATE = """
import json, os, sys
from datetime import UTC, date, datetime
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.quality.check_stage import check_stage
config, day, stage = sys.argv[1:]
arguments = NightArguments(date.fromisoformat(day), "benchmark", datetime.now(UTC))
verdicts = check_stage(night_from_config(config, arguments, os.environ), stage)
failed = [f"{v.table}: {c.check}: {c.observed}, not {c.expected}" for v in verdicts for c in v.failed[:1]]
print(json.dumps({"stage": stage, "tables": len(verdicts), "stopped": len(failed)}))
print(*failed[:3], sep="\\n")
"""


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage or gate.

    ``largest_result_bytes``: those of a Spark stage, which Spark's limit bounds. ``executor_seconds``: of the
    tasks that each executor ran.
    """

    name: str
    seconds: float
    processor_seconds: float
    peak_bytes: Mapping[str, int]
    result_bytes: int
    largest_result_bytes: int
    new_files: int
    new_bytes: int
    executor_seconds: Mapping[str, float]
    counts: Mapping[str, int]
    notes: Sequence[str]
    failed: bool


def night_stages(folder: Path, day: date, last: str, master: SparkMaster) -> Iterator[StageRun]:
    """Run the stages of a night over the cluster in ``folder``, with the gate behind each, up to a failure.

    ``last``: the last stage to run.
    """
    config = str(folder / "night.yaml")
    for stage in STAGE_NAMES[: STAGE_NAMES.index(last) + 1]:
        for name, command in (
            (stage, _submit(folder, stage, config, day, master)),
            (f"check_{stage}", [sys.executable, "-c", _GATE, config, day.isoformat(), stage]),
        ):
            run = _run(folder, name, command, master)
            yield run
            if run.failed:
                return


def _submit(folder: Path, stage: str, config: str, day: date, master: SparkMaster) -> list[str]:
    events = folder / "events"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir()
    conf = {**_SPARK, "spark.eventLog.dir": events.as_uri()}
    job = str(files("starskip.night.job") / "run_stage.py")
    return [
        str(Path(sys.executable).parent / "spark-submit"), "--master", master.url, "--name", stage,
        *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
        job, stage, "--config", config, "--run-date", day.isoformat(), "--run-id", "benchmark",
    ]  # fmt: skip


def _run(folder: Path, name: str, command: Sequence[str], master: SparkMaster) -> StageRun:
    before = _stored(folder / "artefacts")
    # Spark would start the first python3 of the PATH, and outlive a benchmark that is interrupted.
    own = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    environment = {**os.environ, **own, SUBMITTED_BY: str(os.getpid())}
    done = watched(command, environment, str(folder), master.workers)
    after = _stored(folder / "artefacts")
    results, executors = _tasks(folder / "events") if not name.startswith("check_") else ({}, {})
    return StageRun(
        name,
        done.seconds,
        done.processor_seconds,
        {role: done.peak_bytes.get(role, 0) for role in (JVM, DRIVER, WORKER)},
        sum(results.values()),
        max(results.values(), default=0),
        len(after.keys() - before.keys()),
        sum(after[file] for file in after.keys() - before.keys()),
        executors,
        _counts(done.lines),
        _notes(name, done),
        done.exit_code != 0,
    )


def _stored(store: Path) -> dict[str, int]:
    return {
        entry.path: entry.stat().st_size
        for folder, _, _ in os.walk(store)
        for entry in os.scandir(folder)
        if entry.is_file()
    }


def _tasks(events: Path) -> tuple[Mapping[int, int], Mapping[str, float]]:
    """Return the bytes that each Spark stage's tasks sent to the driver, and the seconds of each executor."""
    of_stages: Counter[int] = Counter()
    seconds: dict[str, float] = {}
    for file in events.iterdir():
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                # A driver that was killed leaves half a line.
                if '"Event":"SparkListenerTaskEnd"' in line and line.endswith("}\n"):
                    ended = json.loads(line)
                    metrics = ended.get("Task Metrics") or {}
                    of_stages[ended["Stage ID"]] += metrics.get("Result Size", 0)
                    executor = ended["Task Info"]["Executor ID"]
                    taken = metrics.get("Executor Run Time", 0) / 1000
                    seconds[executor] = seconds.get(executor, 0.0) + taken
    return of_stages, seconds


def _counts(lines: Sequence[str]) -> dict[str, int]:
    for line in reversed(lines):
        if line.startswith('{"stage": '):
            return {name: value for name, value in json.loads(line).items() if isinstance(value, int)}
    return {}


def _notes(name: str, done: Watched) -> list[str]:
    """Return the reason of a failure, else warnings and the first tables that a gate stopped."""
    if done.exit_code:
        own = [line for line in done.lines if line.startswith(f"{name}: ") and ": warning: " not in line]
        errors = [line for line in done.lines if "Error" in line or "Exception" in line]
        return [f"ended with exit code {done.exit_code}", *(own or errors)[-3:]]
    if name.startswith("check_"):
        place = max((n for n, line in enumerate(done.lines) if line.startswith('{"stage": ')), default=0)
        return [line for line in done.lines[place + 1 :] if line]
    return [line for line in done.lines if line.startswith(f"{name}: warning: ")][:3]
