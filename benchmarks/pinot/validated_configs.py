"""The verdict of a release's own validation on table configs, from its library alone: no Pinot is started.

The controllers of later releases cannot be had from Maven; the library with TableConfigUtils can.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pinot.running_pinot import PinotFailed

HERE = Path(__file__).parent / "validation"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
ANSWER = "verdict: "


def refusals(
    version: str, cache: Path, cases: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> list[str]:
    """Return why Pinot ``version`` refuses each schema and config; an empty text for what it accepts."""
    jars = _jars(version, cache)
    lines = "".join(f"{json.dumps(schema)}\t{json.dumps(config)}\n" for schema, config in cases)
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    command = [java, "-cp", f"{jars}/*", str(HERE / "ValidateConfigs.java")]
    told = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    found = [line.removeprefix(ANSWER) for line in told.stdout.splitlines() if line.startswith(ANSWER)]
    if told.returncode or len(found) != len(cases):
        raise PinotFailed(f"Pinot's validation failed:\n{told.stderr[-2000:]}")
    return found


def _jars(version: str, cache: Path) -> Path:
    """Return the folder with the library of that release, which Maven fetches if it is not there yet."""
    jars = cache / f"validation-{version}"
    if jars.exists():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise PinotFailed("Maven is needed to fetch Pinot. Debian and Ubuntu: sudo apt-get install maven")
    print(f"Fetching the library of Pinot {version} with Maven, once", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = cache / f"validation-{version}.{os.getpid()}"
    options = [f"-Dpinot.version={version}", "-DincludeScope=runtime", f"-DoutputDirectory={unfinished}"]
    told = subprocess.run(
        [maven, "-B", "-q", "-f", str(HERE / "pom.xml"), COPY, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise PinotFailed(f"Maven could not fetch Pinot {version}:\n{told.stdout[-2000:]}")
    unfinished.rename(jars)
    return jars
