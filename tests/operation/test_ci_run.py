"""Packages that ``.ci/run`` installs by machine, with an apt-get that only records its arguments."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SCRIPT = (CHECKOUT / ".ci" / "run").read_text()
ELSEWHERE = ["initdb", "nginx"]
"""Also looked for in folders off the PATH, where this machine may have them."""
EVERYTHING = ["javac", "mvn", "make", "python3", "chromium", *ELSEWHERE]


def ci_run(folder: Path, present: Iterable[str], user: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the script with a PATH of the ``present`` commands; each tells its name and what it was given."""
    commands = folder / "commands"
    commands.mkdir()
    for name in ("bash", "dirname", "env", "sh"):
        (commands / name).symlink_to(str(shutil.which(name)))
    (commands / "id").write_text(f"#!/bin/sh\necho {user}\n")
    for name in (*present, "make", "mkdir", "tee"):
        (commands / name).write_text(f'#!/bin/sh\necho "$DEBIAN_FRONTEND {name} $*"\n')
    for each in commands.iterdir():
        each.chmod(0o755)
    return subprocess.run(
        [commands / "bash", CHECKOUT / ".ci" / "run"],
        env={"PATH": str(commands)},
        capture_output=True,
        text=True,
    )


def test_nothing_is_installed_where_nothing_is_missing(tmp_path: Path) -> None:
    ran = ci_run(tmp_path, [*EVERYTHING, "apt-get"])
    assert (ran.returncode, ran.stdout.split("\n")[0].strip(), ran.stderr) == (0, "make test", "")


@pytest.mark.parametrize(("user", "present"), [(0, ["apt-get"]), (1000, ["apt-get", "sudo"])])
def test_what_is_missing_is_installed_by_root_without_sudo_and_by_others_with_it(
    tmp_path: Path, user: int, present: list[str]
) -> None:
    ran = ci_run(tmp_path, [*present, *ELSEWHERE], user)
    assert ran.returncode == 0, ran.stderr
    (install,) = [line for line in ran.stdout.splitlines() if " install " in line]
    assert install.endswith("openjdk-17-jdk-headless maven python3 python3-venv chromium")
    assert ("sudo" in install) == bool(user)
    assert "noninteractive" in install
    tests, shards = ran.stdout.splitlines()[-2:]
    assert (tests.strip(), shards.strip()) == ("make test", "make test-touched MINUTES=44")


def test_without_apt_the_missing_things_are_named_and_no_test_is_begun(tmp_path: Path) -> None:
    ran = ci_run(tmp_path, ["javac", "mvn", "python3", *ELSEWHERE])
    assert ran.returncode == 1
    assert ran.stderr == "The tests need these, by their Debian names: chromium\n"
    assert ran.stdout == ""


def test_it_looks_where_the_tests_look() -> None:
    browsers = re.search(r"BROWSERS = \((.*?)\)", (CHECKOUT / "tests/ui/conftest.py").read_text(), re.DOTALL)
    assert browsers is not None
    names = re.findall(r'"([a-z-]+)"', browsers[1])
    assert f"any_of {' '.join(names)} ||" in SCRIPT
    servers = (CHECKOUT / "tests/operation/conftest.py").read_text()
    assert 'which("initdb")' in servers
    assert 'Path("/usr/lib/postgresql").glob("*/bin/initdb")' in servers
    assert 'any_of initdb || compgen -G "/usr/lib/postgresql/*/bin/initdb"' in SCRIPT
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)
