"""Run the Spark tests on several versions of PySpark, each in an environment of its own (make test-matrix).

An environment has the pins of requirements*.txt, but for PySpark, and lies in ``.matrix``. It is made anew
when a pin changes. uv takes the packages from its cache, so that a second environment is made in seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
MATRIX = CHECKOUT / ".matrix"
UV = Path(sys.executable).with_name("uv")
_PIN = re.compile(r"^(pyspark|pyspark-client)==(.*)$", re.MULTILINE)
_OTHERS = ("4.2.0",)
"""Supported versions beside the pinned one."""
_TRIED = ("4.0.4",)
"""Versions on which one small suite runs, of skipping on files, Delta and Iceberg."""
_SMALL_SUITE = "tests/spark/skipping/test_lake_versions.py"
_OF_OTHERS = ("-m", "not table_formats")
"""The small suite runs on all versions, what needs all of Delta and Iceberg on the pinned one alone."""


def main(arguments: list[str]) -> int:
    """Run pytest on each version; return 0 if all passed."""
    parser = argparse.ArgumentParser(
        prog="make test-matrix",
        description="Run the Spark tests on several versions of PySpark.",
        epilog="All other arguments are those of pytest; tests/spark by default.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--spark",
        action="append",
        metavar="VERSION",
        help="a version, such as 4.2 or 4.0.4; repeatable; the supported ones by default, and 4.0.4",
    )
    given, of_pytest = parser.parse_known_args(arguments)
    known = supported_versions((CHECKOUT / "requirements.txt").read_text(encoding="utf-8"))
    versions = [known.get(each, each) for each in given.spark or (*known, *_TRIED)]
    pinned = next(iter(known.values()))
    outcomes = {}
    for version in versions:
        tests = of_pytest or [_SMALL_SUITE if version in _TRIED else "tests/spark"]
        outcomes[version] = _run(version, [*(() if version == pinned else _OF_OTHERS), *tests])
    for version, code in outcomes.items():
        print(f"PySpark {version}: {'passed' if code == 0 else f'failed, pytest exited with {code}'}")
    return 0 if not any(outcomes.values()) else 1


def supported_versions(pins: str) -> dict[str, str]:
    """Return the supported versions of PySpark by minor version, the pinned one first."""
    pinned = dict(_PIN.findall(pins))["pyspark"]
    return {version.rpartition(".")[0]: version for version in (pinned, *_OTHERS)}


def requirements_with(version: str, pins: str) -> str:
    """Return the pins with another version of PySpark, without the line of the checkout itself."""
    others = "".join(f"{line}\n" for line in pins.splitlines() if not line.startswith("-e"))
    return _PIN.sub(lambda pin: f"{pin[1]}=={version}", others)


def _run(version: str, tests: list[str]) -> int:
    python = _environment(version)
    print(f"PySpark {version}: pytest {' '.join(tests)}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    return subprocess.run([python, "-m", "pytest", *tests], cwd=CHECKOUT, env=environment).returncode


def _environment(version: str) -> str:
    """Return the interpreter of the version's environment, made if it is not there or has other pins."""
    folder = MATRIX / version
    pins = requirements_with(version, (CHECKOUT / "requirements.txt").read_text(encoding="utf-8"))
    for_tests = (CHECKOUT / "requirements-dev.txt").read_text(encoding="utf-8")
    digest = hashlib.sha256(f"{pins}{for_tests}".encode()).hexdigest()
    made = folder / "made-of"
    python = str(folder / "bin" / "python")
    if not made.exists() or made.read_text(encoding="utf-8") != digest:
        print(f"PySpark {version}: making {folder.relative_to(CHECKOUT)}, once", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _uv("venv", "--quiet", "--python", sys.executable, str(folder))
        (folder / "requirements.txt").write_text(pins, encoding="utf-8")
        listed = ("-r", str(folder / "requirements.txt"), "-r", "requirements-dev.txt")
        _uv("pip", "install", "--quiet", "--python", python, *listed)
        _uv("pip", "install", "--quiet", "--python", python, "--no-deps", "-e", ".")
        made.write_text(digest, encoding="utf-8")
    return python


def _uv(*arguments: str) -> None:
    if subprocess.run([str(UV), *arguments], cwd=CHECKOUT).returncode:
        sys.exit(f"uv {arguments[0]} failed, see above: is that version of PySpark published?")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
