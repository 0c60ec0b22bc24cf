"""Jobs submitted by the real operators of providers, in an environment of their own: .submitters."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.dags]

CHECKOUT = Path(__file__).parents[2]
SUPPORT = CHECKOUT / "tests" / "support"
HOUSE = CHECKOUT / ".submitters"
UV = Path(sys.executable).with_name("uv")
PROVIDERS = """
apache-airflow-providers-amazon==9.39.0
apache-airflow-providers-apache-livy==4.6.4
apache-airflow-providers-cncf-kubernetes==10.25.0
apache-airflow-providers-databricks==7.23.0
apache-airflow-providers-google==22.8.0
pytest
"""
OURS = ("apache-airflow", "apache-airflow-providers-apache-spark")
"""Packages whose versions are those of requirements.txt: all of its pins go with no Amazon provider."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment, made when what it is made of changes: 2 GB, in a minute."""
    pins = (CHECKOUT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in pins if line.partition("==")[0] in OURS]
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    asked = "\n".join([*wanted, PROVIDERS])
    digest = hashlib.sha256(f"{asked}{project}{sys.version}".encode()).hexdigest()
    made = HOUSE / "made-of"
    if not made.exists() or made.read_text(encoding="utf-8") != digest:
        shutil.rmtree(HOUSE, ignore_errors=True)
        uv("venv", "--quiet", "--python", sys.executable, str(HOUSE))
        (HOUSE / "asked.txt").write_text(asked, encoding="utf-8")
        files = ("-r", str(CHECKOUT / "pyproject.toml"), "-r", str(HOUSE / "asked.txt"))
        uv("pip", "install", "--quiet", "--python", str(HOUSE / "bin" / "python"), *files)
        made.write_text(digest, encoding="utf-8")
    return HOUSE / "bin" / "python"


def test_each_providers_own_operator_submits_the_job_and_the_receipt_tells_how_it_ended(
    python: Path, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "PYTHONPATH": f"{CHECKOUT / 'include'}:{SUPPORT}",
    }
    checks = SUPPORT / "submitters" / "check_submitters.py"
    command = [python, "-m", "pytest", "-q", "-c", tmp_path / "pytest.ini", "-p", "no:cacheprovider", checks]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=800)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr


def uv(*arguments: str) -> None:
    subprocess.run([UV, *arguments], check=True, cwd=CHECKOUT)
