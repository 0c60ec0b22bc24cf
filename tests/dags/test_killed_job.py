"""A job whose task was killed: it ends, before another try of its task begins and without one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from job_context import context_of
from noted_submit import DONE, receipt_text
from starskip.night.job_receipt import RECEIPTS

pytestmark = [pytest.mark.slow, pytest.mark.dags, pytest.mark.filterwarnings("default")]

# As spark-submit does in client mode: Java, which starts the job's Python, which may start workers.
JAVA = """#!{python}
import subprocess, sys
words = sys.argv[1:]
job = next(word for word in words if word.endswith(".py"))
sys.exit(subprocess.call([sys.executable, "-c", {job!r}, *words[words.index(job):]]))
"""
JOB = """
import os, shutil, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({pids!r}, "a") as file:
    file.write(f"{{os.getppid()}} {{os.getpid()}} {{worker.pid}}\\n")
if os.path.exists({once!r}):
    worker.kill()
    token = next(word for word in sys.argv if word.startswith("--receipt=")).partition("=")[2]
    os.makedirs({receipts!r})
    shutil.copy({receipt!r}, {receipts!r} + "/" + token + ".json")
    sys.exit(0)
open({once!r}, "w").close()
time.sleep(600)
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spark-submit whose first job never ends; later ones end at once."""
    receipts = tmp_path / "a" / RECEIPTS / "2026-11-20"
    receipt = tmp_path / "receipt.json"
    receipt.write_text(receipt_text(DONE))
    names = {"pids": "pids", "once": "once", "receipts": receipts, "receipt": receipt}
    job = JOB.format(**{name: str(tmp_path / place) for name, place in names.items()})
    program = tmp_path / "bin" / "spark3-submit"
    program.parent.mkdir()
    program.write_text(JAVA.format(python=sys.executable, job=job))
    program.chmod(0o755)
    (tmp_path / "night.yaml").write_text(
        "store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}\n"
        "settings: {scale: {local_queries: 0}}\n"
    )
    connection = {"conn_type": "spark", "host": "local[2]", "extra": {"spark-binary": "spark3-submit"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path


def pids(house: Path) -> list[int]:
    file = house / "pids"
    lines = file.read_text().splitlines() if file.exists() else []
    return [int(word) for word in lines[0].split()] if lines else []


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_task_that_is_told_to_end_ends_java_python_and_workers(
    nightly: Any, configured_job: Any, house: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    job = configured_job(house / "night.yaml", "score_votes")
    killer = threading.Thread(target=lambda: (wait_for(lambda: pids(house)), job.on_kill()))
    killer.start()
    with pytest.raises(AirflowException):
        job.execute(context_of(nightly))
    killer.join()
    assert not any(map(is_alive, pids(house)))


def test_who_started_a_process_that_is_ended_learns_how_it_ended() -> None:
    from starskip.airflow.job_processes import end_processes

    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    assert end_processes([psutil.Process(started.pid)]) == 1
    assert started.wait(timeout=60) == -signal.SIGTERM


def test_another_try_first_ends_the_job_that_a_killed_try_left(
    nightly: Any, configured_job: Any, house: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from starskip.airflow.night_request import night_request
    from starskip.airflow.submitters.spark_job import SparkJob

    job = configured_job(house / "night.yaml", "score_votes")
    request = night_request(context_of(nightly), str(house / "night.yaml"))
    arguments = ["score_votes", "--receipt=ofthefirsttry", *request.job_arguments()]
    file = SparkJob("votes", (), "token").local_file
    left = subprocess.Popen([house / "bin" / "spark3-submit", file, *arguments])
    other = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)", file, *arguments[:-1], "--tables=x"]
    )
    try:
        wait_for(lambda: pids(house))
        assert job.execute(context_of(nightly)) == DONE.counts
        assert not any(map(is_alive, pids(house)))
        assert other.poll() is None, "a job of another run was ended"
        assert (
            "score_votes: the job of an earlier try was still running and was ended" in capfd.readouterr().out
        )
    finally:
        other.kill()
        other.wait()
        left.kill()
        left.wait()


def test_a_job_ends_itself_when_the_task_that_submitted_it_is_gone(tmp_path: Path) -> None:
    job = textwrap.dedent(
        f"""
        import os, time
        from starskip.night.submitting_process import end_with_submitter
        end_with_submitter(os.environ)
        open({str(tmp_path / "began")!r}, "w").close()
        time.sleep(600)
        """
    )
    task = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    environment = {**os.environ, "STARSKIP_SUBMITTED_BY": str(task.pid)}
    ran = subprocess.Popen([sys.executable, "-c", job], env=environment)
    try:
        wait_for((tmp_path / "began").exists)
        time.sleep(1.5)
        assert ran.poll() is None
        task.send_signal(signal.SIGKILL)  # and not waited for: what its own parent never reaps is gone, too
        assert ran.wait(20) == 1
    finally:
        task.kill()
        task.wait()
        ran.kill()
        ran.wait()
