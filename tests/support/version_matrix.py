"""Run tests on other versions of Python, PySpark and Airflow (make test-matrix).

Each choice has an environment of its own, which lies in ``.matrix`` and is made anew when what it is made of
changes. It has the pins of requirements*.txt, but for PySpark. With another Airflow it has what was newest on
the day of that Airflow's release, as its constraints file has.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
MATRIX = CHECKOUT / ".matrix"
UV = Path(sys.executable).with_name("uv")
PYTHONS = ("3.12", "3.13", "3.11")
"""Supported versions of Python, the default one first."""
SPARKS = ("4.2.0", "4.0.4")
"""Versions of PySpark beside the pinned one, the newest that pyspark-client has, too."""
AIRFLOWS = {"3.2.2": "2026-05-30"}
"""Versions of Airflow beside the pinned one, with the day after their release."""
_QUICK = ("-m", "not spark and not dags and not quality and not ui and not slow", "-n", "2")
_OF_SPARK = ("-m", "not table_formats", "tests/spark", "tests/dags/test_whole_night.py")
"""Arguments of pytest: tests with all of Delta and Iceberg run on the pinned version of Spark alone."""
_OF_AIRFLOW = ("-m", "not slow and not ui", "tests/airflow", "tests/dags")
_PIN = re.compile(r"^(pyspark|pyspark-client|apache-airflow)==([\d.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one environment."""

    python: str
    spark: str
    airflow: str

    def __str__(self) -> str:
        return f"python-{self.python} spark-{self.spark} airflow-{self.airflow}"


def main(arguments: list[str]) -> int:
    """Run pytest on each choice of versions; return 0 if all passed."""
    parser = argparse.ArgumentParser(
        prog="make test-matrix",
        description="Run tests on versions of Python, PySpark and Airflow; on each one once by default.",
        epilog="All other arguments are those of pytest.",
        allow_abbrev=False,
    )
    for name, known in (("python", "3.13"), ("spark", "4.2 or 4.0.4"), ("airflow", "3.2")):
        parser.add_argument(
            f"--{name}", action="append", metavar="VERSION", help=f"such as {known}; repeatable"
        )
    given, of_pytest = parser.parse_known_args(arguments)
    pinned = pinned_versions((CHECKOUT / "requirements.txt").read_text(encoding="utf-8"))
    planned = asked_versions(given.python, given.spark, given.airflow, pinned) or covering_versions(pinned)
    outcomes = {each: _run(each, of_pytest or arguments_of(each, pinned), pinned) for each in planned}
    for each, code in outcomes.items():
        print(f"{each}: {'passed' if code == 0 else f'failed, pytest exited with {code}'}")
    return 0 if not any(outcomes.values()) else 1


def pinned_versions(pins: str) -> Versions:
    """Return the versions that ``make setup`` installs."""
    pinned = dict(_PIN.findall(pins))
    return Versions(PYTHONS[0], pinned["pyspark"], pinned["apache-airflow"])


def covering_versions(pinned: Versions) -> list[Versions]:
    """Return each Python with what is pinned, then each other Spark and Airflow on the default Python."""
    return [
        *(Versions(python, pinned.spark, pinned.airflow) for python in PYTHONS),
        *(Versions(PYTHONS[0], spark, pinned.airflow) for spark in SPARKS),
        *(Versions(PYTHONS[0], pinned.spark, airflow) for airflow in AIRFLOWS),
    ]


def asked_versions(
    pythons: list[str] | None, sparks: list[str] | None, airflows: list[str] | None, pinned: Versions
) -> list[Versions]:
    """Return all combinations of the versions that were asked for, if any; ``4.2`` is 4.2.0."""
    if not (pythons or sparks or airflows):
        return []
    known = {each.rpartition(".")[0]: each for each in (pinned.spark, *SPARKS, pinned.airflow, *AIRFLOWS)}
    return [
        Versions(python, known.get(spark, spark), known.get(airflow, airflow))
        for python in pythons or [pinned.python]
        for spark in sparks or [pinned.spark]
        for airflow in airflows or [pinned.airflow]
    ]


def arguments_of(versions: Versions, pinned: Versions) -> list[str]:
    """Return pytest's arguments for what differs from the pinned versions."""
    if versions.airflow != pinned.airflow:
        return [*_OF_AIRFLOW]
    if versions.spark != pinned.spark:
        return [*_OF_SPARK]
    return [*_QUICK]


def requirements_with(versions: Versions, pins: str) -> str:
    """Return the pins with another version of PySpark, without the line of the checkout itself."""
    others = "".join(f"{line}\n" for line in pins.splitlines() if not line.startswith("-e"))
    wanted = {"pyspark": versions.spark, "pyspark-client": versions.spark, "apache-airflow": versions.airflow}
    return _PIN.sub(lambda pin: f"{pin[1]}=={wanted[pin[1]]}", others)


def _run(versions: Versions, tests: list[str], pinned: Versions) -> int:
    python = _environment(versions, pinned)
    print(f"{versions}: pytest {' '.join(tests)}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    return subprocess.run([python, "-m", "pytest", *tests], cwd=CHECKOUT, env=environment).returncode


def _environment(versions: Versions, pinned: Versions) -> str:
    """Return the interpreter of the environment, made if it is not there or is made of something else."""
    folder = MATRIX / str(versions).replace(" ", "-")
    pins = requirements_with(versions, (CHECKOUT / "requirements.txt").read_text(encoding="utf-8"))
    for_tests = (CHECKOUT / "requirements-dev.in").read_text(encoding="utf-8")
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    digest = hashlib.sha256(f"{pins}{for_tests}{project}".encode()).hexdigest()
    made = folder / "made-of"
    python = str(folder / "bin" / "python")
    if not made.exists() or made.read_text(encoding="utf-8") != digest:
        print(f"{versions}: making {folder.relative_to(CHECKOUT)}, once", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        search = ["sh", str(CHECKOUT / ".ci" / "find-python"), versions.python]
        found = subprocess.run(search, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
        _uv("venv", "--quiet", "--python", found or versions.python, str(folder))
        listed = folder / "requirements.txt"
        if versions.airflow == pinned.airflow:
            listed.write_text(pins, encoding="utf-8")
        else:
            _resolve_of_release_day(versions, python, listed)
        of_tests = ("-r", str(listed), "-r", "requirements-dev.in", f"uv=={version('uv')}")
        _uv("pip", "install", "--quiet", "--python", python, *of_tests)
        _uv("pip", "install", "--quiet", "--python", python, "--no-deps", "-e", ".")
        made.write_text(digest, encoding="utf-8")
    return python


def _resolve_of_release_day(versions: Versions, python: str, listed: Path) -> None:
    """Write the pins of the day when that Airflow was released, and what this checkout needs beside."""
    wanted = listed.with_name("airflow.in")
    providers = "".join(f"apache-airflow-providers-{each}\n" for each in ("apache-spark", "standard", "fab"))
    wanted.write_text(f"apache-airflow=={versions.airflow}\n{providers}", encoding="utf-8")
    constraints = listed.with_name("constraints.txt")
    resolve = ("pip", "compile", "--quiet", "--python", python, "--no-header", "--no-annotate")
    day = AIRFLOWS.get(versions.airflow)
    _uv(*resolve, *(["--exclude-newer", day] if day else []), str(wanted), "-o", str(constraints))
    kept = [line for line in constraints.read_text().splitlines() if not line.startswith("pyspark-client==")]
    constraints.write_text("\n".join(kept), encoding="utf-8")
    ours = (CHECKOUT / "requirements.in").read_text(encoding="utf-8").replace("-e .", f"{CHECKOUT}")
    needed = listed.with_name("all.in")
    needed.write_text(requirements_with(versions, ours), encoding="utf-8")
    _uv(*resolve, "-c", str(constraints), str(needed), "-o", str(listed))


def _uv(*arguments: str) -> None:
    if subprocess.run([str(UV), *arguments], cwd=CHECKOUT).returncode:
        sys.exit(f"uv {arguments[0]} failed, see above: are those versions published?")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
