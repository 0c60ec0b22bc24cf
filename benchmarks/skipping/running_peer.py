"""Starts a Spark process with Starskip or a peer, fetching the peers' jars into the user's cache, once.

All run on the Spark that is installed; the jars of pom.xml are those for its version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = Path("~/.cache/starskip/skipping-peers")
SECONDS = 7200


@dataclass(frozen=True, slots=True)
class Connectors:
    """Versions of Delta and Iceberg, and the Spark that their jars are for."""

    delta: str
    delta_spark: str
    iceberg: str
    iceberg_spark: str


CONNECTORS = {
    "4.0": Connectors("4.4.0", "4.0", "1.11.0", "4.0"),
    "4.1": Connectors("4.4.0", "4.1", "1.12.0", "4.1"),
    # Iceberg is not published for Spark 4.2 yet: its jar for 4.1 cannot create a table there.
    "4.2": Connectors("4.4.0", "4.2", "1.12.0", "4.1"),
}
"""By minor version of Spark, the newest that are published for it."""


class PeerFailed(Exception):
    """A process, or what it needs, did not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class Engine:
    """``name``: starskip, delta or iceberg; ``python`` and ``jars``: what it is run with."""

    name: str
    title: str
    python: str
    jars: tuple[str, ...]


def engines(names: Sequence[str]) -> list[Engine]:
    """Return the engines of those names, with what they need fetched."""
    return [_ENGINES[name]() for name in names]


def ask(
    engine: Engine, order: dict[str, Any], scratch: Path, process: str = "spark_process.py"
) -> dict[str, Any]:
    """Run a process over an order and return its answer; ``process``: a file here. Raises PeerFailed."""
    folder = scratch / engine.name
    folder.mkdir(parents=True)
    answer = folder / "answer.json"
    whole = {
        **order,
        "engine": engine.name,
        "jars": list(engine.jars),
        "scratch": str(folder),
        "answer": str(answer),
    }
    print(f"{engine.title}:", file=sys.stderr)
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    told = subprocess.run(
        [engine.python, str(HERE / process)],
        input=json.dumps(whole),
        text=True,
        env=environment,
        cwd=folder,
        timeout=SECONDS,
        stdout=subprocess.DEVNULL,
    )
    if told.returncode or not answer.exists():
        raise PeerFailed(f"{engine.title}: the process ended with exit code {told.returncode}")
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def linked(files: Path, target: Path) -> Path:
    """Return a folder of hard links to the files, for those who write beside them."""
    target.mkdir()
    for file in sorted(files.glob("part-*.parquet")):
        os.link(file, target / file.name)
    return target


def _starskip() -> Engine:
    return Engine("starskip", "Starskip", sys.executable, ())


def _delta() -> Engine:
    return Engine("delta", f"Delta {CONNECTORS[spark_minor()].delta}", sys.executable, jars("delta"))


def _iceberg() -> Engine:
    title = f"Iceberg {CONNECTORS[spark_minor()].iceberg}"
    return Engine("iceberg", title, sys.executable, jars("iceberg"))


_ENGINES = {"starskip": _starskip, "delta": _delta, "iceberg": _iceberg}


def spark_minor() -> str:
    """Return the minor version of the Spark that is installed, such as 4.1."""
    return version("pyspark").rpartition(".")[0]


def has_iceberg() -> bool:
    """Return whether Iceberg is published for the Spark that is installed."""
    minor = spark_minor()
    return minor in CONNECTORS and CONNECTORS[minor].iceberg_spark == minor


def jars(peer: str) -> tuple[str, ...]:
    """Return the jars of "delta" or "iceberg" for the Spark that is installed; Maven fetches them once.

    Raises PeerFailed.
    """
    minor = spark_minor()
    if minor not in CONNECTORS:
        raise PeerFailed(f"Delta and Iceberg are known for Spark {', '.join(CONNECTORS)}, not for {minor}")
    of = CONNECTORS[minor]
    folder = CACHE.expanduser() / f"jars-spark-{minor}"
    if not folder.exists():
        maven = shutil.which("mvn")
        if maven is None:
            raise PeerFailed(
                "Maven is needed to fetch peers (Debian, Ubuntu: apt-get install maven), or name --peers"
            )
        print("Fetching Delta and Iceberg with Maven, once: 70 MB", file=sys.stderr)
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        wanted = {
            "folder": unfinished,
            "delta": of.delta,
            "delta.spark": of.delta_spark,
            "iceberg": of.iceberg,
            "iceberg.spark": of.iceberg_spark,
        }
        given = [f"-D{name}={value}" for name, value in wanted.items()]
        _run([maven, "-B", "-q", "-f", str(HERE / "pom.xml"), "package", *given])
        try:
            unfinished.rename(folder)
        except OSError:
            # Another process, such as another worker of the tests, was the first to fetch them.
            if not folder.exists():
                raise
            shutil.rmtree(unfinished)
    return tuple(str(jar) for jar in sorted((folder / peer).glob("*.jar")))


def _run(command: list[str]) -> None:
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        raise PeerFailed(f"{command[0]}:\n{told.stdout[-2000:]}{told.stderr[-2000:]}")
