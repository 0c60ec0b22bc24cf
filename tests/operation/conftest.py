"""Servers that an operator has and the sample has not: PostgreSQL, a Spark cluster, Airflow's own parts.

Each listens on this machine only, lives in a folder of its own, and is gone when its fixture ends.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from free_ports import free_ports
from short_lived_java import SHORT_LIVED_JAVA
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def compose_command(service: str, replaced: Mapping[str, str]) -> list[str]:
    """Return the command that the image's entry point runs for a service of the compose file.

    Its hosts, ports and folders are ``replaced``. The entry point runs a shell as it is, and takes all else
    for arguments of ``airflow``.
    """
    command = _services()[service]["command"]
    words = shlex.split(command[2].removeprefix("exec ")) if command[0] == "bash" else ["airflow", command]
    return _here(words, replaced)


def health_command(service: str, replaced: Mapping[str, str]) -> list[str]:
    """Return the health check of a service of the compose file, ``replaced`` in the same way."""
    kind, *words = _services()[service]["healthcheck"]["test"]
    if kind == "CMD-SHELL":
        words = shlex.split(words[0].replace("$${HOSTNAME}", socket.getfqdn()))
    return _here(words, replaced)


def _services() -> Mapping[str, Any]:
    services: Mapping[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yaml").read_text())["services"]
    return services


def _here(words: Sequence[str], replaced: Mapping[str, str]) -> list[str]:
    program, *options = words
    for old, new in replaced.items():
        options = [option.replace(old, new) for option in options]
    found = next((path for path in (BIN / program, postgres_bin() / program) if path.exists()), None)
    return [str(found or shutil.which(program)), *options]


def wait_until(is_so: Callable[[], Any], seconds: float, what: str, every_s: float = 0.5) -> Any:
    """Return the first true answer of ``is_so``; fail naming ``what`` if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(every_s)
    return found


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def group_is_alive(group: int) -> bool:
    """Return whether a process of the group runs; one that is dead and not reaped yet does not."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of_group = status.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                return True
    return False


@contextmanager
def server(
    command: Sequence[str | Path], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a session of its own; afterwards no process of that session is left."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(item) for item in command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        for name in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, name)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with suppress(AssertionError):
                wait_until(lambda: not group_is_alive(process.pid), 20, "the end of a server")
        assert not group_is_alive(process.pid), command


# PostgreSQL refuses to run as root, which is what a container's tests run as.
_AS_NOBODY: Mapping[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
_PASSWORD = "s3cret-of-the-test"


def postgres_bin() -> Path:
    """Return the folder of PostgreSQL's programs, which Debian keeps off the PATH."""
    for found in (shutil.which("initdb"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))):
        if found is not None:
            return Path(found).resolve().parent
    raise AssertionError("this test needs PostgreSQL: apt-get install postgresql, or brew install postgresql")


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """An empty database of a PostgreSQL of its own, with a password, as SQLAlchemy takes it."""
    programs = postgres_bin()
    (port,) = free_ports(1)
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="starskip-postgres-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        data, secret = folder / "data", folder / "password"
        secret.write_text(_PASSWORD)
        data.mkdir()
        for path in (folder, data, secret):
            if _AS_NOBODY:
                shutil.chown(path, "nobody", "nogroup")
        made = [programs / "initdb", "-D", data, "-U", "airflow", "--auth=scram-sha-256"]
        subprocess.run(
            [*made, f"--pwfile={secret}", "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True, capture_output=True, cwd="/", **_AS_NOBODY,
        )  # fmt: skip
        listening = [
            "-p",
            str(port),
            "-k",
            str(folder),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "fsync=off",
        ]
        log = (folder / "log").open("wb")
        process = subprocess.Popen(
            [str(programs / "postgres"), "-D", str(data), *listening],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **_AS_NOBODY,
        )  # fmt: skip
        try:
            wait_until(lambda: answers(port), 30, f"PostgreSQL\n{(folder / 'log').read_text()}")
            with postgres_session(f"postgresql://airflow:{_PASSWORD}@127.0.0.1:{port}/postgres") as session:
                session.execute("CREATE DATABASE airflow")
            yield f"postgresql+psycopg2://airflow:{_PASSWORD}@127.0.0.1:{port}/airflow"
        finally:
            process.send_signal(signal.SIGINT)  # "fast": ends the sessions that are still there
            process.wait(30)
            log.close()


@contextmanager
def postgres_session(url: str) -> Iterator[Any]:
    """A cursor on the database of ``url``."""
    import psycopg2

    connection = psycopg2.connect(url.replace("+psycopg2", ""))
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


@dataclass(frozen=True)
class Cluster:
    """A Spark standalone cluster: its connection as Airflow takes it, and where its executors lived."""

    connection: str
    work: Path
    web_ports: Mapping[str, int]


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each, whose Python has every library but not Starskip."""
    folder = tmp_path_factory.mktemp("cluster")
    port, *web_ports = free_ports(4)
    python = folder / "bin" / "python3"
    python.parent.mkdir()
    # Without the site module no .pth file is read, and with it goes the editable install of Starskip.
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n', encoding="utf-8"
    )
    python.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK_"))}
    environment = {
        **kept,
        "PATH": f"{python.parent}:{BIN}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "SPARK_DAEMON_MEMORY": "512m",
        "JAVA_TOOL_OPTIONS": SHORT_LIVED_JAVA,
        "SPARK_NO_DAEMONIZE": "1",
    }
    here = {"spark-master": "127.0.0.1", "7077": str(port)}
    url = f"spark://127.0.0.1:{port}"
    master = compose_command("spark-master", {**here, "8081": str(web_ports[0])})
    with server(master, environment, folder / "master.log"):
        wait_until(lambda: answers(port), 60, "Spark's master")
        small = {**here, "${SPARK_WORKER_CORES:-2}": "1", "${SPARK_WORKER_MEMORY:-2g}": "1g"}
        first, second = (
            server(
                compose_command(
                    "spark-worker", {**small, "8081": str(web), "/opt/airflow/spark": str(folder / name)}
                ),
                environment,
                folder / f"{name}.log",
            )
            for name, web in zip(("worker-0", "worker-1"), web_ports[1:], strict=True)
        )
        with first, second:
            log = folder / "master.log"
            wait_until(lambda: log.read_text().count("Registering worker") == 2, 60, "Spark's workers")
            yield Cluster(url, folder, {"spark-master": web_ports[0], "spark-worker": web_ports[1]})


@dataclass(frozen=True)
class House:
    """A small deep store with the sample's logs, a night's configuration, and an artefact store."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "night.yaml"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(storage_for(str(self.folder / "artefacts")))

    def parts(self, artefact: str, night: str) -> Mapping[str, Any]:
        """Return what readers find of that night now, by table, down to the names of the files."""
        snapshot = self.store.snapshot(artefact, night)
        return snapshot.parts() if snapshot else {}

    def rows(self, artefact: str, night: str, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.store.snapshot(artefact, night).read_table([table]).to_pylist()
        return rows


_SMALL = {
    "scoring": {
        "window_rows_per_table": 2_048,
        "max_simulations_per_table": 300,
        "max_sampled_segments": 2,
    },
    # Two nights run at once, and which of them sees the other's votes is chance.
    "workload": {"look_back_nights": 1},
    # So small a night would need no Spark.
    "scale": {"local_queries": 0, "local_bytes": 0},
}


def make_house(folder: Path, log_paths: Sequence[str] = ("logs",)) -> House:
    """One segment of lineitem, three of airlineStats, and the three days' logs."""
    sample = CHECKOUT / "include" / "sample"
    for table, count in (("lineitem", 1), ("airlineStats", 3)):
        (folder / "segments" / table).mkdir(parents=True)
        for path in sorted((sample / "segments" / table).iterdir())[:count]:
            shutil.copy2(path, folder / "segments" / table / path.name)
    shutil.copytree(sample / "logs", folder / "logs")
    document = {
        "store": {"artefacts": "artefacts"},
        "sources": {"log_paths": list(log_paths), "segments_root": "segments"},
        "settings": _SMALL,
    }
    house = House(folder)
    house.config.write_text(json.dumps(document))
    return house


@dataclass(frozen=True)
class Airflow:
    """A running Airflow: its environment for commands, and its API as the admin sees it."""

    environment: Mapping[str, str]
    address: str
    token: str

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``airflow`` with the arguments and return it, whatever its exit code."""
        ran = subprocess.run(
            [BIN / "airflow", *arguments], env=dict(self.environment), capture_output=True, text=True
        )
        print(*arguments, "->", ran.returncode, ran.stdout[-3000:], ran.stderr[-3000:])
        return ran

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and JSON answer of the API below ``/api/v2``."""
        return _call(f"{self.address}/api/v2{path}", method, body, self.token)

    def runs(self) -> list[Any]:
        """Return the DAG runs, oldest night first."""
        _, found = self.call("GET", "/dags/index_advisor_nightly/dagRuns?order_by=run_after&limit=100")
        return list(found["dag_runs"])

    def tasks(self, run_id: str) -> dict[str, tuple[str, int]]:
        """Return state and number of tries of the tasks of a run."""
        _, found = self.call("GET", f"/dags/index_advisor_nightly/dagRuns/{run_id}/taskInstances")
        return {item["task_id"]: (item["state"], item["try_number"]) for item in found["task_instances"]}

    def failure(self, run_id: str, task: str) -> str:
        """Return the reason that a task left, which is also what finish_night says of it."""
        path = f"/dags/index_advisor_nightly/dagRuns/{run_id}/taskInstances/{task}/xcomEntries/failure"
        return str(self.call("GET", path)[1]["value"])


@contextmanager
def running_airflow(folder: Path, environment: Mapping[str, str], port: int) -> Iterator[Airflow]:
    """All parts of Airflow, as the compose file starts them; but its users are those of a file."""
    (folder / "passwords.json").write_text(json.dumps({"admin": "admin-of-the-test"}))
    subprocess.run([BIN / "airflow", "db", "migrate"], env=dict(environment), check=True, capture_output=True)
    parts = [
        server(compose_command(name, {}), environment, folder / f"{name}.log")
        for name in ("airflow-apiserver", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer")
    ]
    address = f"http://127.0.0.1:{port}"
    with parts[0], parts[1], parts[2], parts[3]:
        wait_until(lambda: answers(port), 180, "Airflow's API")
        login = {"username": "admin", "password": "admin-of-the-test"}
        token = str(_call(f"{address}/auth/token", "POST", login)[1]["access_token"])
        airflow = Airflow(environment, address, token)
        wait_until(lambda: airflow.call("GET", "/dags/index_advisor_nightly")[0] == 200, 120, "the DAG")
        yield airflow


def _call(url: str, method: str, body: Any = None, token: str = "") -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


@pytest.fixture(scope="session")
def operation() -> SimpleNamespace:
    """Give the tests what this file defines: with importlib import mode they cannot import it."""
    return SimpleNamespace(
        BIN=BIN,
        CHECKOUT=CHECKOUT,
        compose_command=compose_command,
        health_command=health_command,
        make_house=make_house,
        postgres_session=postgres_session,
        running_airflow=running_airflow,
        wait_until=wait_until,
    )
