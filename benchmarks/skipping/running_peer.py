"""Starts a Spark process with Starskip or a peer, fetching the peers' jars into the user's cache, once.

All run on the Spark that is installed; the jars of pom.xml are those for Spark 4.1.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = Path("~/.cache/starskip/skipping-peers")
SECONDS = 7200


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


def ask(engine: Engine, order: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Run a process over an order and return its answer; raises PeerFailed."""
    folder = scratch / engine.name
    folder.mkdir()
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
        [engine.python, str(HERE / "spark_process.py")],
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
    return Engine("delta", "Delta 4.4.0", sys.executable, jars("delta"))


def _iceberg() -> Engine:
    return Engine("iceberg", "Iceberg 1.12.0", sys.executable, jars("iceberg"))


_ENGINES = {"starskip": _starskip, "delta": _delta, "iceberg": _iceberg}


def jars(peer: str) -> tuple[str, ...]:
    """Return the jars of "delta" or "iceberg" for Spark 4.1, which Maven fetches the first time.

    Raises PeerFailed.
    """
    folder = CACHE.expanduser() / "jars-spark-4.1"
    if not folder.exists():
        maven = shutil.which("mvn")
        if maven is None:
            raise PeerFailed(
                "Maven is needed to fetch peers (Debian, Ubuntu: apt-get install maven), or name --peers"
            )
        print("Fetching Delta and Iceberg with Maven, once: 70 MB", file=sys.stderr)
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        _run([maven, "-B", "-q", "-f", str(HERE / "pom.xml"), "package", f"-Dfolder={unfinished}"])
        unfinished.rename(folder)
    return tuple(str(jar) for jar in sorted((folder / peer).glob("*.jar")))


def _run(command: list[str]) -> None:
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        raise PeerFailed(f"{command[0]}:\n{told.stdout[-2000:]}{told.stderr[-2000:]}")
