"""The Makefile's list of targets, and its messages where something is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
TARGETS = re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # What make hands to its children would change what a make below it does.
    handed = ("MAKE", "MFLAGS", "PYTHON3")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(handed)}
    program = shutil.which("make")
    assert program is not None
    return subprocess.run(
        [program, "--no-print-directory", *arguments],
        cwd=CHECKOUT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def path_without_java(tmp_path: Path) -> str:
    """A PATH with the few commands that the Makefile's checks use, and no Java."""
    for name in ("sh", "sed", "head", "awk"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    return str(tmp_path)


def java_that_says(folder: Path, text: str) -> None:
    (folder / "java").write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    (folder / "java").chmod(0o755)


def test_help_is_what_make_shows_without_a_target() -> None:
    assert make().stdout == make("help").stdout


def test_help_lists_every_target_that_people_call() -> None:
    listed = re.findall(r"^  ([a-z-]+) +\S", make("help").stdout, re.MULTILINE)
    assert sorted(listed) == sorted(set(TARGETS) - {"java"})
    assert {"setup", "night", "test", "lint", "ui", "bench-advice", "bench-tuner"} <= set(listed)


def test_night_is_one_command_with_its_date_and_tables() -> None:
    ran = make("-n", "night", "RUN_DATE=2026-11-18", "TABLES=lineitem")
    assert ran.returncode == 0
    assert '--run-date "2026-11-18" --tables "lineitem"' in ran.stdout


@pytest.mark.parametrize("target", ["setup", "night", "test", "ui"])
def test_without_java_one_message_says_how_to_get_it(path_without_java: str, target: str) -> None:
    ran = make(target, PATH=path_without_java, JAVA_HOME="")
    assert ran.returncode != 0
    assert ran.stdout == ""
    assert ran.stderr.startswith("Starskip needs Java 17 or 21 for Spark, and found none. How to get it:")
    assert "openjdk-17-jre-headless" in ran.stderr
    assert len(ran.stderr.splitlines()) == 5


def test_an_old_java_is_named(path_without_java: str) -> None:
    java_that_says(Path(path_without_java), 'java version "1.8.0_402"')
    assert "found 1." in make("setup", PATH=path_without_java, JAVA_HOME="").stderr
    java_that_says(Path(path_without_java), 'openjdk version "11.0.22" 2024-01-16')
    assert "found 11." in make("setup", PATH=path_without_java, JAVA_HOME="").stderr


def test_java_home_is_where_spark_looks_first(path_without_java: str) -> None:
    java_that_says(Path(path_without_java), 'openjdk version "17.0.15" 2025-04-15')
    assert make("java", PATH=path_without_java, JAVA_HOME="").returncode == 0
    ran = make("java", PATH=path_without_java, JAVA_HOME="/nowhere")
    assert ran.returncode != 0
    assert "found none in JAVA_HOME" in ran.stderr


def python_that_says(file: Path, text: str, code: int) -> Path:
    """A program like a Python that says what it is, and suits if the code is 0."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    file.chmod(0o755)
    return file


def found_python(commands: Path, *asked: str) -> subprocess.CompletedProcess[str]:
    """Run the search where only some commands are on the PATH, and pyenv's folder lies beside them."""
    search = [str(shutil.which("sh")), str(CHECKOUT / ".ci" / "find-python"), *asked]
    environment = {"PATH": str(commands), "PYENV_ROOT": str(commands / "pyenv")}
    return subprocess.run(search, env=environment, capture_output=True, text=True)


def test_setup_takes_python_3_12_and_else_3_13_and_else_3_11(tmp_path: Path) -> None:
    python_that_says(tmp_path / "python3", "Python 3.11.9", 0)
    assert found_python(tmp_path).stdout == "python3\n"
    python_that_says(tmp_path / "python3.11", "Python 3.11.9", 0)
    assert found_python(tmp_path).stdout == "python3.11\n"
    of_pyenv = tmp_path / "pyenv" / "versions"
    thirteen = python_that_says(of_pyenv / "3.13.0" / "bin" / "python3.13", "Python 3.13.0", 0)
    assert found_python(tmp_path).stdout == f"{thirteen}\n"
    # pyenv's shim of a version that is not chosen says how to choose it, and runs nothing.
    python_that_says(tmp_path / "python3.12", "", 127)
    assert found_python(tmp_path).stdout == f"{thirteen}\n"
    twelve = python_that_says(of_pyenv / "3.12.1" / "bin" / "python3.12", "Python 3.12.1", 0)
    assert found_python(tmp_path).stdout == f"{twelve}\n"
    python_that_says(tmp_path / "python3.12", "Python 3.12.12", 0)
    assert found_python(tmp_path).stdout == "python3.12\n"
    assert found_python(tmp_path, str(thirteen)).stdout == f"{thirteen}\n"
    assert found_python(tmp_path, "3.13").stdout == f"{thirteen}\n"
    assert "and found none" in found_python(tmp_path, "3.14").stderr


def test_pythons_that_do_not_suit_are_named_with_how_to_get_one(tmp_path: Path) -> None:
    nothing = found_python(tmp_path)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith(
        "Starskip needs Python 3.11, 3.12 or 3.13, and found none. How to get it:"
    )
    python_that_says(tmp_path / "python3", "Python 3.9.2", 1)
    python_that_says(tmp_path / "python3.12", "Python 3.12.3 without ensurepip", 1)
    message = found_python(tmp_path).stderr
    assert "found Python 3.12.3 without ensurepip as python3.12, Python 3.9.2 as python3." in message
    assert "python3-venv" in message
    assert "found Python 3.9.2 as python3." in found_python(tmp_path, "python3").stderr


def test_a_python_suits_by_its_release_and_its_modules(tmp_path: Path) -> None:
    assert found_python(tmp_path, sys.executable).stdout == f"{sys.executable}\n"
    search = (CHECKOUT / ".ci" / "find-python").read_text(encoding="utf-8")
    judge = search.partition("judge='")[2].partition("'")[0]
    for fault, said in (
        ("import sys; sys.version_info = (3, 14)", ""),
        ("import sys; sys.version_info = (3, 10)", ""),
        ("import sys, importlib.util; sys.path.clear()", " without ensurepip"),
    ):
        ran = subprocess.run([sys.executable, "-c", fault + judge], capture_output=True, text=True)
        assert ran.returncode == 1
        assert said in ran.stdout


def test_setup_stops_before_it_makes_anything_where_no_python_suits(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, tmp_path)
    shutil.copytree(CHECKOUT / ".ci", tmp_path / ".ci")
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sh", "sed", "head"):
        (commands / name).symlink_to(str(shutil.which(name)))
    java_that_says(commands, 'openjdk version "21.0.2" 2024-01-16')
    place = {"PATH": str(commands), "JAVA_HOME": "", "PYENV_ROOT": str(tmp_path)}
    ran = make("-C", str(tmp_path), "setup", **place)
    assert ran.returncode != 0
    assert "and found none" in ran.stderr
    old = python_that_says(tmp_path / "old", "Python 3.9.2", 1)
    assert (
        f"found Python 3.9.2 as {old}."
        in make("-C", str(tmp_path), "setup", f"PYTHON3={old}", **place).stderr
    )
    assert "found Python 3.9.2" in make("-C", str(tmp_path), "setup", PYTHON3=str(old), **place).stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_is_asked_for_makes_the_environment_anew_if_it_has_another(tmp_path: Path) -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    shutil.copy(CHECKOUT / "Makefile", tmp_path)
    shutil.copytree(CHECKOUT / ".ci", tmp_path / ".ci")
    python_that_says(tmp_path / ".venv" / "bin" / "python", "of one", 0)
    (tmp_path / ".venv" / "installed").touch()
    other = python_that_says(tmp_path / "other", "of another", 0)
    same = python_that_says(tmp_path / "same", "of one", 0)

    def planned(*asked: str) -> str:
        return make("-C", str(tmp_path), "-n", "-o", "java", "setup", *asked).stdout

    assert "--clear" in planned(f"PYTHON3={other}")
    assert "--clear" not in planned(f"PYTHON3={same}")
    assert "--clear" not in planned()


def test_what_programs_import_is_compiled_once_whatever_the_caller_has_set(tmp_path: Path) -> None:
    asking = tmp_path / "asking.mk"
    asking.write_text("asked:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]\n")
    ran = make("-f", "Makefile", "-f", str(asking), "asked", PYTHONDONTWRITEBYTECODE="1")
    assert ran.stdout == "[]\n"
