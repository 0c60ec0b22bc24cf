"""The verdict of a release's own validation on table configs, from its library alone: no Pinot is started.

The controllers of later releases cannot be had from Maven; the library with TableConfigUtils can.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pinot.running_pinot import PinotFailed, fetched_jars

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
    asked = [COPY, f"-Dpinot.version={version}", "-DincludeScope=runtime"]
    about = f"the library of Pinot {version}"
    jars = cache / f"validation-{version}"
    return fetched_jars(jars, about, HERE / "pom.xml", lambda to: [*asked, f"-DoutputDirectory={to}"])
