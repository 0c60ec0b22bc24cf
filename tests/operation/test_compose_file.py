"""The compose file against its schema, and each command in it against the programs there are.

No container engine runs where these tests do. What the commands do is seen in test_backfill, which runs those
of the compose file itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
TEXT = (CHECKOUT / "docker-compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [name for name in SERVICES if name != "postgres"]


def schema_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_file_follows_the_compose_schema() -> None:
    checked = schema_check(CHECKOUT / "docker-compose.yaml")
    assert checked.returncode == 0, checked.stdout


def test_a_misspelt_key_does_not(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(TEXT.replace("healthcheck:", "healthchek:", 1))
    assert schema_check(tmp_path / "compose.yaml").returncode == 1


def test_there_is_one_image_for_airflow_and_spark_beside_the_database() -> None:
    assert {SERVICES[name]["image"] for name in OURS} == {"starskip:latest"}
    assert SERVICES["postgres"]["image"].startswith("postgres:")
    assert set(SERVICES) >= {"api-server", "scheduler", "dag-processor", "spark-master", "spark-worker"}


def test_no_secret_has_a_default_and_each_is_required() -> None:
    variables = dict(re.findall(r"\$\{([A-Z_]+)(:?[-?][^}]*)?\}", TEXT))
    secrets = {name for name in variables if re.search("PASSWORD|SECRET|KEY", name)}
    assert secrets == {"POSTGRES_PASSWORD", "AIRFLOW_FERNET_KEY", "AIRFLOW_SECRET_KEY", "AIRFLOW_JWT_SECRET"}
    assert all(variables[name].startswith(":?") for name in secrets)
    assert not re.search(r"ALL_ADMINS", TEXT)
    assert ".env" in (CHECKOUT / ".gitignore").read_text().split()
    assert (CHECKOUT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_only_the_page_is_published_and_on_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"api-server": ["127.0.0.1:8080:8080"]}


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_a_service_that_stays_tells_of_its_health_and_starts_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_what_a_service_waits_for_and_mounts_exists() -> None:
    for service in SERVICES.values():
        for other, wait in service.get("depends_on", {}).items():
            assert other in SERVICES
            assert wait["condition"] == "service_healthy" or other == "migrate"
        for volume in service.get("volumes", ()):
            source = volume.rpartition(":")[0] if volume.endswith(":ro") else volume
            source = source.rpartition(":")[0]
            assert source.startswith("${STARSKIP_DATA:-./include/sample}") or source in COMPOSE["volumes"]


def test_driver_and_executors_see_the_same_places() -> None:
    of_driver, of_executors = (set(SERVICES[name]["volumes"]) for name in ("scheduler", "spark-worker"))
    assert of_driver - of_executors == {"airflow:/opt/airflow"}
    assert of_executors == of_driver - {"airflow:/opt/airflow"}


def test_executors_get_no_secret_of_airflows() -> None:
    for name in ("spark-master", "spark-worker"):
        assert not re.search("AIRFLOW|POSTGRES", str(SERVICES[name].get("environment")))
        assert "airflow" not in str(SERVICES[name].get("volumes"))


@pytest.mark.dags
@pytest.mark.parametrize(
    "words",
    [SERVICES[name]["command"] for name in OURS if SERVICES[name]["command"][0] == "airflow"]
    + [SERVICES[name]["healthcheck"]["test"][1:] for name in ("scheduler", "dag-processor")],
)
def test_airflow_understands_the_words_of_a_command(words: list[str]) -> None:
    from airflow.cli.cli_parser import get_parser

    program, *arguments = words
    assert (BIN / program).exists()
    assert callable(get_parser().parse_args(arguments).func)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["spark-master", "spark-worker"])
def test_spark_understands_the_words_of_a_command(name: str) -> None:
    program, server, *_ = SERVICES[name]["command"]
    assert (BIN / program).exists()
    # Like the image, whose python3 is the one that has PySpark.
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    command = [BIN / program, server, "--help"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    known = set(re.findall(r"--[a-z-]+", ran.stdout + ran.stderr))
    assert {word for word in SERVICES[name]["command"] if word.startswith("--")} <= known


COPIED = re.findall(r"^COPY (.+) \S+$", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE)


def test_what_the_image_copies_is_in_the_context_of_its_build() -> None:
    allowed = (CHECKOUT / ".dockerignore").read_text().split()
    assert {f"!{name}" for line in COPIED for name in line.split()} == {w for w in allowed if w[0] == "!"}


_IN_THE_IMAGE = """
import runpy, sys
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
import starskip
place = Path(sys.argv[1])
assert Path(starskip.__file__).is_relative_to(place), starskip.__file__
bag = DagBag(place / "dags")
assert not bag.import_errors and list(bag.dags) == ["index_advisor_nightly"], bag.import_errors
(job,) = [task for task in bag.dags["index_advisor_nightly"].tasks if task.task_id == "write_report"]
assert Path(job.application).is_file() and Path(job.application).is_relative_to(place)
from starskip.airflow.report_pages.pages import report_pages
assert callable(report_pages())
"""


@pytest.mark.dags
def test_the_files_of_the_image_are_enough_for_dag_pages_and_stages(tmp_path: Path) -> None:
    from starskip.airflow.airflow_environment import airflow_environment

    place = tmp_path / "starskip"
    for name in (name for line in COPIED for name in line.split()):
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            place.mkdir(exist_ok=True)
            shutil.copy2(source, place)
    environment = airflow_environment(place, {"PATH": os.environ["PATH"]}, home=tmp_path / "home")
    # The image installs the package from there; here the path leads before the one of the checkout.
    environment |= {"PYTHONPATH": str(place / "include"), "PYTHONDONTWRITEBYTECODE": "1"}
    stage = ["stage", "collect_segment_metadata", "--config", "include/config/night.yaml"]
    for command in (
        [sys.executable, "-c", _IN_THE_IMAGE, str(place)],
        [BIN / "starskip", *stage, "--run-date", "2026-11-20"],
    ):
        ran = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    # Compose puts the artefacts' volume there.
    assert {path.name for path in (place / "night" / "artefacts").iterdir()} >= {"table_facts"}
