"""The compose file against its schema, and each command in it against the programs there are.

No container engine runs where these tests do. What the commands do is seen in test_backfill, which runs those
of the compose file itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

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
    assert SERVICES["spark-worker"]["volumes"] == SERVICES["scheduler"]["volumes"]


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


def test_the_image_gets_every_folder_that_the_night_needs() -> None:
    copied = set(re.findall(r"^COPY (\w+) \w+$", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE))
    assert copied == {"include", "dags", "plugins", "spark_jobs"}
    allowed = (CHECKOUT / ".dockerignore").read_text().split()
    assert all(f"!{name}" in allowed for name in (*copied, "requirements.txt", "pyproject.toml", "README.md"))
