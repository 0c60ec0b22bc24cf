"""The Makefile's list of targets, and its messages where something is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
TARGETS = re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # What make hands to its children would change what a make below it does.
    handed = ("MAKE", "MFLAGS", "PYTHON311")
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
    assert ran.stderr.startswith("Starskip needs Java 17 or newer for Spark, and found none. How to get it:")
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


def test_a_python_of_another_release_is_named_with_how_to_get_the_right_one(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, tmp_path)
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sh", "sed", "head"):
        (commands / name).symlink_to(str(shutil.which(name)))
    java_that_says(commands, 'openjdk version "21.0.2" 2024-01-16')
    (commands / "python3").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n')
    (commands / "python3").chmod(0o755)
    ran = make("-C", str(tmp_path), "setup", PATH=str(commands), JAVA_HOME="")
    assert ran.returncode != 0
    assert ran.stderr.startswith("Starskip needs Python 3.11, and found Python 3.9.2")
    assert not (tmp_path / ".venv").exists()
    (commands / "chosen").write_text("#!/bin/sh\necho Python 3.12.1\nexit 1\n")
    (commands / "chosen").chmod(0o755)
    path = {"PATH": str(commands), "JAVA_HOME": ""}
    ran = make("-C", str(tmp_path), "setup", PYTHON311=str(commands / "chosen"), **path)
    assert "and found Python 3.12.1" in ran.stderr
    (commands / "python3").unlink()
    assert "and found none" in make("-C", str(tmp_path), "setup", **path).stderr


def test_what_programs_import_is_compiled_once_whatever_the_caller_has_set(tmp_path: Path) -> None:
    asking = tmp_path / "asking.mk"
    asking.write_text("asked:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]\n")
    ran = make("-f", "Makefile", "-f", str(asking), "asked", PYTHONDONTWRITEBYTECODE="1")
    assert ran.stdout == "[]\n"
