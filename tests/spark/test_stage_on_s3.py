"""A stage as a job of its own: executors read segments from an object store and write artefacts there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import obstore
import pytest
import starskip
from starskip.advisor.run.night import Night
from starskip.execution.local_engine import LocalEngine
from starskip.night.collect_segment_metadata import collect_segment_metadata
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
SEGMENTS = ROOT / "include" / "sample" / "segments" / "airlineStats"


def job(config: str, run_date: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "spark_jobs" / "collect_segment_metadata.py")]
    return subprocess.run(
        [*command, "--config", config, "--run-date", run_date],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **environment,
            "PYTHONPATH": str(Path(starskip.__file__).parents[1]),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def facts(store: ArtefactStore, run_date: str) -> list[str]:
    snapshot = store.snapshot("table_facts", run_date)
    assert snapshot is not None
    columns = [name for name in snapshot.read_table().schema.names if not name.startswith("source_")]
    return sorted(map(str, snapshot.read_table(columns=columns).to_pylist()))


def test_executors_read_and_write_the_bucket(s3: Any, tmp_path: Path) -> None:
    (tmp_path / "segments" / "airlineStats").mkdir(parents=True)
    for path in sorted(SEGMENTS.iterdir())[:6]:
        shutil.copy2(path, tmp_path / "segments" / "airlineStats" / path.name)
    place = s3.upload(tmp_path, s3.fresh_url())
    config = f"store: {{artefacts: {place}/artefacts}}\nsources: {{log_paths: [], segments_root: segments}}\n"
    obstore.put(s3.store(), f"{place.removeprefix(s3.url())}/night.yaml", config.encode())

    done = job(f"{place}/night.yaml", "2026-11-20", s3.environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["segments_read"] == 6
    assert "SECRET" not in done.stdout + done.stderr
    local = Night(
        run_date=date(2026, 11, 20),
        store=ArtefactStore(storage_for(str(tmp_path / "artefacts"))),
        settings=Settings(),
        started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_id="test",
        segments_root=str(tmp_path / "segments"),
    )
    collect_segment_metadata(LocalEngine(), local)
    there = ArtefactStore(storage_for(f"{place}/artefacts"))
    assert facts(there, "2026-11-20") == facts(local.store, "2026-11-20")

    done = job(f"{place}/night.yaml", "2026-11-21", s3.environment)
    assert json.loads(done.stdout.splitlines()[-1])["segments_taken_over"] == 6, done.stderr
    assert facts(there, "2026-11-21") == facts(there, "2026-11-20")

    wrong = {**s3.environment, "AWS_SECRET_ACCESS_KEY": "wrong-SECRET"}
    done = job(f"{place}/night.yaml", "2026-11-20", wrong)
    assert done.returncode == 3
    assert f"{place}/night.yaml: the store refuses the credentials" in done.stderr.splitlines()[-1]
    assert "SECRET" not in done.stderr
