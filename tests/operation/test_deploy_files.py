"""The files for Airflow's Helm chart and for Astro, against the chart's names and the project's pins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).parents[2]
DEPLOY = CHECKOUT / "deploy"
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "helm-values.yaml").read_text())
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()

# Places that the schema of chart 1.22.0 knows, as far as the file uses them; below config are
# options of Airflow's own.
CHART = {
    "airflowVersion",
    "executor",
    "uid",
    "gid",
    "extraEnvFrom",
    "config",
    "images.airflow.repository",
    "images.airflow.tag",
    "images.pod_template.repository",
    "images.pod_template.tag",
    "fernetKeySecretName",
    "apiSecretKeySecretName",
    "jwtSecretName",
    "data.metadataSecretName",
    "postgresql.enabled",
    "createUserJob.enabled",
    "dagProcessor.dagBundleConfigList",
    "triggerer.enabled",
    "triggerer.persistence.size",
    "workers.kubernetes.resources",
    "statsd.enabled",
    "logs.persistence.enabled",
    "logs.persistence.storageClassName",
}


def places(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in values.items():
        place = f"{above}{name}"
        if place in CHART or not isinstance(value, dict):
            yield place
        else:
            yield from places(value, f"{place}.")


def test_the_chart_knows_every_place_of_the_values() -> None:
    assert set(places(VALUES)) == CHART


def test_a_misspelt_place_is_not_known() -> None:
    assert set(places({"dagProcesser": {"dagBundleConfigList": []}})) - CHART


def test_the_values_hold_no_secret_and_name_them_as_the_docs_make_them() -> None:
    text = (DEPLOY / "helm-values.yaml").read_text()
    named = set(re.findall(r"(?:SecretName|\bname): ([a-z-]+)", text)) - {"starskip"}
    docs = (CHECKOUT / "docs" / "install.md").read_text()
    assert named == set(re.findall(r"^secret ([a-z-]+) ", docs, re.MULTILINE))
    for name, key in re.findall(r"SecretName: ([a-z-]+) +# key ([a-z-]+)", text):
        assert f"secret {name} --from-literal={key}=" in docs


def test_the_values_have_airflows_version_the_images_user_and_a_triggerer() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert VALUES["images"]["airflow"]["tag"] == project["version"]
    assert f":slim-{VALUES['airflowVersion']}-python" in DOCKERFILE
    assert (VALUES["uid"], VALUES["gid"]) == (50000, 0)
    assert VALUES["triggerer"]["enabled"]
    assert VALUES["images"]["airflow"] == VALUES["images"]["pod_template"]


def test_astro_gets_the_packages_and_libraries_of_the_image() -> None:
    packages = (DEPLOY / "astro" / "packages.txt").read_text().split()
    assert f"--no-install-recommends {' '.join(packages)} " in DOCKERFILE
    lines = (DEPLOY / "astro" / "requirements.txt").read_text().split("\n")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    build = dict(re.findall(r"^ARG ([A-Z_]+)=(.*)$", DOCKERFILE, re.MULTILINE))
    assert lines[0] == f"starskip[{build['STARSKIP_EXTRAS']}]=={project['version']}"
    assert {f"{name}=={build['SPARK_VERSION']}" for name in ("pyspark", "pyspark-client")} < set(lines)


def test_astros_connection_is_one_that_airflow_reads() -> None:
    settings = yaml.safe_load((DEPLOY / "astro" / "airflow_settings.yaml").read_text())["airflow"]
    (connection,) = settings["connections"]
    assert (connection["conn_id"], connection["conn_type"]) == ("spark_default", "spark")
    (dag,) = (DEPLOY / "astro" / "dags").iterdir()
    assert "from starskip.airflow import index_advisor_dag" in dag.read_text()
