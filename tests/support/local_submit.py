"""A ``spark-submit`` that runs jobs without Spark, for nights of tests that are not about Spark.

Each job is a fork of one process that has imported what stages import: that is most of the processor time of
a job by itself.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest

ON_A_CLUSTER = frozenset(
    {"collect_segment_metadata", "parse_query_logs", "fit_latency_model", "score_votes", "build_star_trees"}
)
"""The stages that the backfill's test submits to a cluster; that of a whole night submits the others."""

_PROGRAM = """#!{python} -SE
import json, os, socket, sys
words = sys.argv[1:]
job = next(word for word in words if word.endswith(".py"))
is_chosen = set({where!r}) <= set(words) and not set({unless!r}) & set(words)
if is_chosen and words[words.index(job) + 1] in {stages!r}:
    os.execv({real!r}, [{real!r}, *words])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({server!r})
    socket.send_fds(server, [b"\\n"], [0, 1, 2])
    asked = [words[words.index(job):], os.getcwd(), dict(os.environ)]
    server.sendall(json.dumps(asked).encode() + b"\\n")
    code = server.recv(1)
# A job that is killed tells nothing.
sys.exit(code[0] if code else 1)
"""


def local_submit(
    program: Path,
    server: Path,
    on_spark: Collection[str] = (),
    where: Collection[str] = (),
    unless: Collection[str] = (),
) -> None:
    """Write the program; stages ``on_spark`` go to the real one, if a call has all words ``where``.

    A call that has one of the words ``unless`` does not.
    """
    real = str(Path(sys.executable).with_name("spark-submit"))
    program.parent.mkdir(parents=True, exist_ok=True)
    filled = {"python": sys.executable, "real": real, "server": str(server)}
    program.write_text(_PROGRAM.format(**filled, stages=set(on_spark), where=set(where), unless=set(unless)))
    program.chmod(0o755)


@pytest.fixture(scope="module")
def job_server() -> Iterator[Path]:
    """The socket of a process that forks a job for each call of the program."""
    # A socket's path has room for a hundred characters.
    with tempfile.TemporaryDirectory(prefix="starskip-jobs-") as folder:
        place = Path(folder, "socket")
        with _listening(place) as listening:
            handle = listening.fileno()
            process = subprocess.Popen([sys.executable, __file__, str(handle)], pass_fds=[handle])
        try:
            yield place
        finally:
            process.kill()
            process.wait()


@contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()
        yield listening


def _serve(listening: socket.socket) -> None:
    import starskip.night.stage_job as jobs
    from starskip.advisor.run.stages import STAGES
    from starskip.execution.local_engine import LocalEngine
    from starskip.night.stage_functions import stage_function

    for stage in STAGES:
        stage_function(stage.name)
    jobs.SparkSession, jobs.SparkEngine = MagicMock(), lambda session: LocalEngine()  # type: ignore[misc,assignment]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no job is waited for
    while True:
        connection, _ = listening.accept()
        with connection:
            if not os.fork():
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _run_job(connection)


def _run_job(connection: socket.socket) -> None:
    _, handles, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as told:
        words, folder, environment = json.loads(told.readline())
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    code: object = 0
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([code if isinstance(code, int) else 1]))
    os._exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
