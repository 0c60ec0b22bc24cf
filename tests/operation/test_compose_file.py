"""The compose file against its schema and Airflow's own file, its commands against the programs there are.

No container engine runs where these tests do. What the commands do is seen in test_backfill, which runs those
of the compose file itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
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
OFFICIAL = [
    "airflow-apiserver",
    "airflow-cli",
    "airflow-dag-processor",
    "airflow-init",
    "airflow-scheduler",
    "airflow-triggerer",
    "airflow-worker",
    "flower",
    "postgres",
    "redis",
]
"""Names of the services of Airflow's own file."""
OF_SPARK = ["spark-master", "spark-worker"]
FOREIGN = ["postgres", "redis"]
ONCE = ["airflow-init", "airflow-cli"]


def schema_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", path]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_file_follows_the_compose_schema() -> None:
    checked = schema_check(CHECKOUT / "docker-compose.yaml")
    assert checked.returncode == 0, checked.stdout


def test_a_misspelt_key_does_not(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(TEXT.replace("healthcheck:", "healthchek:", 1))
    assert schema_check(tmp_path / "compose.yaml").returncode == 1


def test_the_services_are_airflows_own_and_those_of_spark() -> None:
    assert sorted(SERVICES) == sorted(OFFICIAL + OF_SPARK)
    images = {SERVICES[name]["image"] for name in SERVICES if name not in FOREIGN}
    assert images == {"${AIRFLOW_IMAGE_NAME:-starskip:latest}"}


def test_celery_and_helpers_run_only_where_they_are_asked_for() -> None:
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {
        "redis": ["celery", "flower"],
        "airflow-worker": ["celery"],
        "flower": ["flower"],
        "airflow-cli": ["debug"],
    }


def test_no_secret_has_a_default_and_each_is_required() -> None:
    variables = dict(re.findall(r"\$\{([A-Z_]+)(:?[-?][^}]*)?\}", TEXT))
    secrets = {name for name in variables if re.search("PASSWORD|SECRET|KEY", name)}
    assert secrets == {
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
        "AIRFLOW__CORE__FERNET_KEY",
        "AIRFLOW__API__SECRET_KEY",
        "AIRFLOW__API_AUTH__JWT_SECRET",
        "_AIRFLOW_WWW_USER_PASSWORD",
    }
    assert all(variables[name].startswith(":?") for name in secrets)
    assert ".env" in (CHECKOUT / ".gitignore").read_text().split()
    assert (CHECKOUT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_the_docs_write_every_secret_into_the_env_file() -> None:
    written = set(re.findall(r"^(\w+)=\$\(openssl", (CHECKOUT / "docs/operate.md").read_text(), re.MULTILINE))
    assert written == set(re.findall(r"\$\{(\w+):\?", TEXT))


def test_only_pages_are_published_and_on_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "airflow-apiserver": ["127.0.0.1:${AIRFLOW_PORT:-8080}:8080"],
        "flower": ["127.0.0.1:5555:5555"],
    }


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ONCE])
def test_a_service_that_stays_tells_of_its_health_and_starts_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_what_a_service_waits_for_and_mounts_exists() -> None:
    for service in SERVICES.values():
        for other, wait in service.get("depends_on", {}).items():
            assert other in SERVICES
            assert wait["condition"] == "service_healthy" or other == "airflow-init"
        for volume in service.get("volumes", ()):
            source = volume.removesuffix(":ro").rpartition(":")[0]
            assert source.startswith(("${STARSKIP_DATA:-./", "${AIRFLOW_PROJ_DIR:-.}/")) or (
                source in COMPOSE["volumes"]
            )


def test_airflow_has_the_folders_of_its_own_file() -> None:
    mounted = SERVICES["airflow-scheduler"]["volumes"]
    for name in ("dags", "logs", "config", "plugins"):
        assert f"${{AIRFLOW_PROJ_DIR:-.}}/{name}:/opt/airflow/{name}" in mounted


def test_driver_and_executors_see_the_same_places() -> None:
    of_driver, of_executors = (
        set(SERVICES[name]["volumes"]) for name in ("airflow-scheduler", "spark-worker")
    )
    assert of_executors < of_driver
    assert not any(re.search("/(dags|logs|config|plugins):", each) for each in of_executors)


def test_executors_get_no_secret_of_airflows() -> None:
    for name in OF_SPARK:
        assert not re.search("AIRFLOW|POSTGRES|REDIS", str(SERVICES[name].get("environment")))


def test_any_user_of_group_0_runs_every_service_of_the_image() -> None:
    users = {name: SERVICES[name]["user"] for name in SERVICES if name not in FOREIGN}
    assert users.pop("airflow-init") == "0:0"
    assert set(users.values()) == {"${AIRFLOW_UID:-50000}:0"}
    made = re.findall(r"umask 0002 && mkdir -p (.*)", (CHECKOUT / "Dockerfile").read_text())
    of_executors = next(word for word in str(SERVICES["spark-worker"]["command"]).split() if "/spark" in word)
    assert made == [f"/opt/airflow/night {of_executors}"]


AIRFLOWS = [
    "airflow-apiserver",
    "airflow-scheduler",
    "airflow-dag-processor",
    "airflow-triggerer",
    "airflow-worker",
    "flower",
]


@pytest.mark.dags
@pytest.mark.parametrize("name", AIRFLOWS)
def test_airflow_understands_the_words_of_a_command(name: str) -> None:
    from airflow.cli.cli_parser import get_parser

    words = str(SERVICES[name]["command"]).split()
    # The image's entry point takes what is no shell for arguments of airflow.
    assert callable(get_parser().parse_args(words).func)


@pytest.mark.dags
@pytest.mark.parametrize("name", ["airflow-dag-processor", "airflow-triggerer"])
def test_airflow_understands_the_words_of_a_health_check(name: str) -> None:
    from airflow.cli.cli_parser import get_parser

    kind, timeout, _, program, *words = SERVICES[name]["healthcheck"]["test"]
    assert (kind, timeout, program) == ("CMD", "timeout", "airflow")
    assert callable(get_parser().parse_args(words).func)


@pytest.mark.spark
@pytest.mark.parametrize("name", OF_SPARK)
def test_spark_understands_the_words_of_a_command(name: str, operation: Any) -> None:
    program, server, *words = operation.compose_command(name, {})
    # Like the image, whose python3 is the one that has PySpark.
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    ran = subprocess.run([program, server, "--help"], env=environment, capture_output=True, text=True)
    known = set(re.findall(r"--[a-z-]+", ran.stdout + ran.stderr))
    assert {word for word in words if word.startswith("--")} <= known


def test_the_context_of_the_build_is_what_the_wheel_is_made_of() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    build = project["tool"]["uv"]["build-backend"]
    names = [f"{build['module-root']}/{name}" for name in build["module-name"]]
    needed = ["pyproject.toml", project["project"]["readme"], *project["project"]["license-files"], *names]
    allowed = {line[1:] for line in (CHECKOUT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert all(any(Path(name).match(pattern) for pattern in allowed) for name in needed)
    assert all(list(CHECKOUT.glob(pattern)) for pattern in allowed)


def test_the_image_has_the_pinned_airflow_and_spark() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text()
    pinned = dict(re.findall(r"^([a-z-]+)==([\d.]+)", (CHECKOUT / "requirements.txt").read_text(), re.M))
    assert f"ARG AIRFLOW_IMAGE=apache/airflow:slim-{pinned['apache-airflow']}-python3.12\n" in dockerfile
    assert f"ARG SPARK_VERSION={pinned['pyspark']}\n" in dockerfile
    (extras,) = re.findall(r"^ARG STARSKIP_EXTRAS=(.*)$", dockerfile, re.M)
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
