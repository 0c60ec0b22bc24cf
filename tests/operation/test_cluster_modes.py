"""Jobs on a real Spark cluster, with the driver here and elsewhere: the receipt tells how they ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from job_context import context_of
from starskip.airflow.airflow_environment import airflow_environment
from starskip.night.job_receipt import RECEIPTS, read_receipt
from starskip.storage.local_storage import LocalStorage

pytestmark = [pytest.mark.slow, pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]
SAMPLE = CHECKOUT / "include" / "sample"
SPARK_SUBMIT = Path(sys.executable).with_name("spark-submit")
STAGE = "collect_segment_metadata"
# YARN's spark-submit uploads the files and ends as soon as the driver is accepted, which runs on.
YARN = """#!{python}
import shutil, subprocess, sys
words = sys.argv[1:]
job = next(word for word in words if word.endswith("run_stage.py"))
conf = ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"]
package, told = words[words.index("--py-files") + 1], words[words.index(job):]
files = ["--py-files", shutil.copy(package, {driver!r} + ".zip")]
command = [{real!r}, "--master", {master!r}, *conf, *files, *told]
# As on a machine of its own: nobody here finds the driver by the arguments that the task gave it.
command.append("--run-id=manual")
with open({log!r}, "w") as log:
    driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
open({driver!r}, "a").write(str(driver.pid) + "\\n")
print("INFO Submitted application application_1700000000000_0001")
"""


class State(dict[str, Any]):
    """The state of a task that Airflow keeps from one try to the next."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in airflow_environment(CHECKOUT, os.environ, home=tmp_path / "airflow").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    (tmp_path / "night.yaml").write_text(
        f"store: {{artefacts: a}}\nsources: {{segments_root: {SAMPLE}/segments, log_paths: {SAMPLE}/logs}}\n"
        "settings: {scale: {local_queries: 0, local_bytes: 0}}\n"
    )
    return tmp_path


Run = Callable[..., Any]


@pytest.fixture
def run(house: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the stage for some tables by a connection, with the state of a task."""

    def submit(tables: list[str], state: State | None = None, **connection: Any) -> Any:
        from starskip.airflow.connections import Connections
        from starskip.airflow.spark_stage_operator import SparkStageOperator

        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        job = SparkStageOperator(
            task_id=STAGE, config=str(house / "night.yaml"), connections=Connections(), tables=tables
        )
        context = context_of(SimpleNamespace(params=("run_date", "tables", "publish")))
        context["ti"].stats_tags = {}
        if state is not None:
            context["task_state_store"] = state
        return job.execute(context)

    return submit


def test_in_client_mode_the_receipt_tells_what_came_of_it(spark_cluster: Any, house: Path, run: Run) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    connection = {"conn_type": "spark", "host": spark_cluster.connection}
    counts = run(["lineitem"], **connection)
    (left,) = (house / "a" / RECEIPTS / "2026-11-20").iterdir()
    receipt = read_receipt(LocalStorage(house / "a", None), "2026-11-20", left.stem)
    assert receipt is not None and receipt.counts == counts
    assert (receipt.stage, receipt.run_id, receipt.tables) == (STAGE, "manual", ("lineitem",))
    assert receipt.engine == "spark" and 1 < receipt.seconds < 300
    assert 50e6 < receipt.peak_memory_bytes < 2e9
    assert receipt.jvm_peak_memory_bytes is not None and 100e6 < receipt.jvm_peak_memory_bytes < 4e9
    with pytest.raises(AirflowFailException, match=r"^unknown table nation: "):
        run(["nation"], **connection)


@pytest.fixture
def yarn(spark_cluster: Any, house: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A connection to what answers as YARN's resource manager; its drivers run on the standalone cluster."""
    drivers = house / "drivers"
    program = house / "bin" / "spark3-submit"
    program.parent.mkdir()
    filled = {"real": str(SPARK_SUBMIT), "master": spark_cluster.connection, "driver": str(drivers)}
    program.write_text(YARN.format(python=sys.executable, log=str(house / "driver.log"), **filled))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    class Manager(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pid = int(drivers.read_text().split()[-1])
            is_there = psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
            state = ("RUNNING", "UNDEFINED") if is_there else ("FINISHED", "FAILED")
            app = {"state": state[0], "finalStatus": state[1], "diagnostics": ""}
            content = json.dumps({"app": app}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Manager) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        extra = {
            "deploy-mode": "cluster",
            "spark-binary": "spark3-submit",
            "yarn_resourcemanager_webapp_address": f"http://127.0.0.1:{server.server_port}",
        }
        yield {"conn_type": "spark", "host": "yarn", "extra": extra}
        server.shutdown()


def test_in_cluster_mode_a_bad_input_fails_at_once_with_the_jobs_own_reason(
    yarn: dict[str, Any], run: Run
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match=r"^unknown table nation: "):
        run(["nation"], **yarn)


def test_a_driver_that_outlived_its_worker_is_taken_up_with_its_receipt(
    yarn: dict[str, Any], house: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    class WorkerGone(BaseException):
        pass

    def gone(*_: Any) -> None:
        raise WorkerGone

    state = State()
    with monkeypatch.context() as patch, pytest.raises(WorkerGone):
        patch.setattr(SparkSubmitHook, "_start_yarn_application_status_tracking", gone)
        run(["lineitem"], state, **yarn)
    assert state["spark_job_id"] == "application_1700000000000_0001"
    assert run(["lineitem"], state, **yarn)["tables"] == 1
    assert len((house / "drivers").read_text().split()) == 1
    assert len(list((house / "a" / RECEIPTS / "2026-11-20").iterdir())) == 1
    assert state == {}


@pytest.mark.parametrize("is_sent", [True, False])
def test_spark_itself_sends_no_file_of_this_machine_to_a_pod_without_a_place_for_it(
    tmp_path: Path, is_sent: bool
) -> None:
    """Without one Spark goes on to the server, which is not there."""
    package = tmp_path / "starskip.zip"
    package.touch()
    sent = ["--py-files", str(package)] if is_sent else []
    cluster = ["--master", "k8s://https://127.0.0.1:1", "--deploy-mode", "cluster"]
    image = ["--conf", "spark.kubernetes.container.image=i"]
    done = submitted_by_spark(*cluster, *image, *sent, "local:///opt/run_stage.py")
    assert done.returncode == 1
    place = "Please specify spark.kubernetes.file.upload.path property"
    assert (place in done.stdout + done.stderr) == is_sent
    assert ("Connection refused" in done.stdout + done.stderr) != is_sent


def test_spark_itself_runs_no_python_driver_on_a_standalone_cluster(spark_cluster: Any) -> None:
    """The operator refuses it, in a sentence that names the connection; Spark says the same in a stack."""
    from starskip.airflow.submitters.spark_job import SparkJob

    cluster = ["--master", spark_cluster.connection, "--deploy-mode", "cluster"]
    done = submitted_by_spark(*cluster, SparkJob("votes", (), "token").local_file)
    assert done.returncode == 1
    said = "Cluster deploy mode is currently not supported for python applications on standalone clusters"
    assert said in done.stdout + done.stderr


def submitted_by_spark(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{SPARK_SUBMIT.parent}:{os.environ['PATH']}"}
    command = [SPARK_SUBMIT, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
