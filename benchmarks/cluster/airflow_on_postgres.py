"""An Airflow of a benchmark, as ``make ui`` starts it, over a PostgreSQL of its own; both end with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from starskip.airflow.airflow_environment import airflow_environment

_PROGRAMS = "/usr/lib/postgresql"
_START_SECONDS = 300
_EVERY_S = 1.0
# PostgreSQL refuses to run as root.
_AS_NOBODY: Mapping[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
_ROLES = {
    "LocalExecutor": "executor",
    "airflow worker --": "task",
    "airflow supervisor": "supervisor of a task",
    "scheduler": "scheduler",
    "dag-processor": "DAG processor",
    "api": "API server",
    "triggerer": "triggerer",
}
"""Beginnings of what Airflow calls its processes, in the order in which they are looked for."""


@dataclass(slots=True)
class RunningAirflow:
    """An Airflow that runs; ``peak_bytes``: the greatest resident memory of any one process, by role."""

    environment: Mapping[str, str]
    database_url: str
    peak_bytes: Counter[str] = field(default_factory=Counter)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query to Airflow's database."""
        import psycopg2

        session = psycopg2.connect(self.database_url.replace("+psycopg2", ""))
        try:
            with session.cursor() as cursor:
                cursor.execute(query, values)
                return list(cursor.fetchall())
        finally:
            session.close()

    def command(self, *words: str) -> None:
        """Run ``airflow`` with these words; raise RuntimeError with its output if it fails."""
        done = subprocess.run(["airflow", *words], env=dict(self.environment), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"airflow {' '.join(words)}: {(done.stdout + done.stderr)[-2_000:]}")


def wait_until(is_so: Callable[[], Any], seconds: float, what: str) -> Any:
    """Return the first true answer of ``is_so``; raise TimeoutError naming ``what`` if there is none."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.5)
    return found


@contextmanager
def airflow_on_postgres(folder: Path, port: int) -> Iterator[RunningAirflow]:
    """Run all parts of Airflow over the DAG files in ``folder/dags``, its home and database in ``folder``."""
    for name in ("dags", "plugins"):
        (folder / name).mkdir(exist_ok=True)
    home = folder / "airflow"
    with _postgres(port + 1) as url:
        caller = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")}
        caller["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = url
        words = ["-m", "starskip.airflow.airflow_ui", "--port", str(port), "--home", str(home)]
        with (folder / "airflow.log").open("w", encoding="utf-8") as said:
            page = subprocess.Popen(
                [sys.executable, *words], cwd=folder, env=caller, stdout=said, stderr=subprocess.STDOUT
            )
        running = RunningAirflow(airflow_environment(folder, caller, home=home, port=port), url)
        ended = threading.Event()
        watch = threading.Thread(target=_watch, args=(page.pid, running.peak_bytes, ended))
        try:
            wait_until(lambda: _is_up(folder, page), _START_SECONDS, f"Airflow: see {folder}/airflow.log")
            watch.start()
            yield running
        finally:
            ended.set()
            page.send_signal(signal.SIGTERM)
            page.wait(timeout=120)


def _is_up(folder: Path, page: subprocess.Popen[Any]) -> bool:
    said = (folder / "airflow.log").read_text(encoding="utf-8")
    if page.poll() is not None:
        raise RuntimeError(f"Airflow has ended: {said[-2_000:]}")
    return "the reports of all nights" in said


def _watch(root: int, peaks: Counter[str], ended: threading.Event) -> None:
    while not ended.wait(_EVERY_S):
        with suppress(psutil.Error):
            for process in psutil.Process(root).children(recursive=True):
                with suppress(psutil.Error):
                    title = " ".join(process.cmdline())
                    role = next((role for mark, role in _ROLES.items() if mark in title), "others")
                    peaks[role] = max(peaks[role], process.memory_info().rss)


@contextmanager
def _postgres(port: int) -> Iterator[str]:
    """Run a PostgreSQL that this machine alone reaches; yield an empty database's URL for SQLAlchemy."""
    found = sorted(Path(_PROGRAMS).glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    if initdb is None:
        raise RuntimeError("PostgreSQL is not here (Debian, Ubuntu: apt-get install postgresql)")
    control = str(Path(initdb).with_name("pg_ctl"))
    with tempfile.TemporaryDirectory(prefix="starskip-postgres-") as place:
        if _AS_NOBODY:
            shutil.chown(place, "nobody", "nogroup")
        options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1"

        def run(*words: str) -> None:
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/", **_AS_NOBODY)

        run(initdb, "-D", f"{place}/data", "-U", "airflow", "-A", "trust", "-E", "UTF8", "--locale=C")
        run(control, "-D", f"{place}/data", "-w", "-l", f"{place}/log", "-o", options, "start")
        try:
            run(
                str(Path(initdb).with_name("createdb")),
                "-h",
                place,
                "-p",
                str(port),
                "-U",
                "airflow",
                "airflow",
            )
            yield f"postgresql+psycopg2://airflow@127.0.0.1:{port}/airflow"
        finally:
            run(control, "-D", f"{place}/data", "-m", "fast", "stop")
