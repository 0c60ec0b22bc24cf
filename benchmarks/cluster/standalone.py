"""A Spark standalone cluster on this machine: a master, and workers of one core each."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_HOST = "127.0.0.1"
_STARTED_S = 60


@dataclass(frozen=True, slots=True)
class SparkMaster:
    """A place to submit jobs; ``workers``: the processes that start executors, none if jobs run here."""

    url: str
    workers: Sequence[int] = ()


LOCAL = SparkMaster("local[2]")


@contextmanager
def spark_master(workers: int, folder: Path) -> Iterator[SparkMaster]:
    """Start a cluster of ``workers`` for as long as it is used; without workers, jobs run in their driver."""
    if not workers:
        yield LOCAL
        return
    port = _free_port()
    log = folder / "master.log"
    with ExitStack() as running:
        running.enter_context(_running(folder, "master", [_MASTER, "--host", _HOST, "--port", str(port)]))
        _wait(lambda: f"Starting Spark master at spark://{_HOST}:{port}" in log.read_text(), log)
        url = f"spark://{_HOST}:{port}"
        found = []
        for n in range(workers):
            size = ["--cores", "1", "--memory", "3g", "--work-dir", str(folder / f"work-{n}")]
            words = [_WORKER, "--host", _HOST, *size, url]
            found.append(running.enter_context(_running(folder, f"worker-{n}", words)))
        _wait(lambda: len(re.findall("Registering worker", log.read_text())) == workers, log)
        yield SparkMaster(url, [process.pid for process in found])


@contextmanager
def _running(folder: Path, name: str, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    spark_class = Path(sys.executable).with_name("spark-class")
    own = {"SPARK_LOCAL_IP": _HOST, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_DRIVER_PYTHON": sys.executable}
    with (
        (folder / f"{name}.log").open("wb") as log,
        subprocess.Popen(
            [spark_class, *words, "--webui-port", "0"], env={**os.environ, **own}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_HOST, 0))
        return int(found.getsockname()[1])


def _wait(is_up: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + _STARTED_S
    while not is_up():
        if time.monotonic() > until:
            raise SystemExit(f"Spark's cluster did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)
