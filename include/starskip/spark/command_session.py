"""A Spark session for a command: quiet, with a progress bar on a terminal."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext, __version__
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tqdm import tqdm

from starskip.errors import StarskipError, printable
from starskip.spark.skipping.failures import context_logger
from starskip.spark.skipping.temporary_files import IO_ENCRYPTION
from starskip.spark.understood_failure import understood_failure

_EVERY_S = 0.3


_NEWEST_JAVA_BEFORE_4_2 = 23


@contextmanager
def command_session(
    label: str, *, encrypts: bool = False, is_quiet: bool = False, log_level: str = "ERROR"
) -> Iterator[SparkSession]:
    """Yield a session as spark-defaults or spark-submit configure it, by default on all cores here.

    ``encrypts``: make Spark encrypt its temporary files. ``is_quiet``: without a progress bar. Raises
    StarskipError if it cannot be started; Spark's own errors become one line.
    """
    # The error that follows repeats its message.
    context_logger().setLevel(logging.CRITICAL)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    is_guest = SparkContext._active_spark_context is not None
    builder = (
        SparkSession.builder.appName("starskip")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", log_level)
    )
    if encrypts:
        builder = builder.config(IO_ENCRYPTION, "true")
    with tempfile.TemporaryFile() as log:
        try:
            with _stderr_to(log.fileno()):
                session = builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            told = log.read()[-2000:].decode(errors="replace").strip().splitlines() or [str(error)]
            raise StarskipError(
                f"Spark cannot be started, which needs Java 17 or 21: {printable(told[-1], 300)}"
            ) from error
        try:
            require_java(session)
            with nullcontext() if is_quiet else _progress(session, label):
                yield session
        except (PySparkException, Py4JError) as error:
            found = understood_failure(error)
            if isinstance(found, StarskipError):
                raise found from error
            first = str(error).strip().partition("\n")[0]
            raise StarskipError(f"Spark: {printable(first, 400)}") from error
        finally:
            if not is_guest:
                session.stop()


@contextmanager
def _stderr_to(descriptor: int) -> Iterator[None]:
    """Give a child process another stderr: the JVM's start messages are not ours."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _progress(session: Any, label: str) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session.sparkContext, label, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(context: Any, label: str, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    with tqdm(total=0, desc=label, unit="task", leave=False, file=sys.stderr) as bar:
        seen: dict[int, tuple[int, int]] = {}
        while not ended.wait(_EVERY_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[stage] = (info.numCompletedTasks, info.numTasks)
            active = set(tracker.getActiveStageIds())
            # A stage that is no longer active has ended.
            finished = sum(
                of if stage not in active else completed for stage, (completed, of) in seen.items()
            )
            bar.total = sum(of for _, of in seen.values())
            bar.n = finished
            bar.refresh()


def require_java(session: SparkSession) -> None:
    """Raise StarskipError if Spark is older than 4.2 and its Java is newer than it can use.

    From Java 24 on the thread that serves results in Arrow's form dies there, and Python waits for it.
    """
    jvm = session.sparkContext._jvm
    assert jvm is not None
    java = int(jvm.java.lang.Runtime.version().feature())
    if java > _NEWEST_JAVA_BEFORE_4_2 and __version__.startswith(("4.0.", "4.1.")):
        raise StarskipError(
            f"PySpark {__version__} does not run on Java {java}: let JAVA_HOME name Java 17 or 21, "
            "or use PySpark 4.2"
        )
