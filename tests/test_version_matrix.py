"""The versions that make test-matrix runs on, and what their environments are made of."""

from __future__ import annotations

import re
from pathlib import Path

from version_matrix import (
    AIRFLOWS,
    CHECKOUT,
    PYTHONS,
    SPARKS,
    Versions,
    arguments_of,
    asked_versions,
    covering_versions,
    pinned_versions,
    requirements_with,
)

PINS = "-e .[all]\napache-airflow==3.3.2\napache-airflow-core==3.3.2\npyspark==4.1.3\npyspark-client==4.1.3\n"
PINNED = Versions("3.12", "4.1.3", "3.3.2")


def test_each_supported_version_is_run_once() -> None:
    covering = covering_versions(PINNED)
    assert len(set(covering)) == len(covering) == len(PYTHONS) + len(SPARKS) + len(AIRFLOWS)
    assert {each.python for each in covering} == {"3.11", "3.12", "3.13"}
    assert {each.spark.rpartition(".")[0] for each in covering} == {"4.0", "4.1", "4.2"}
    assert {each.airflow.rpartition(".")[0] for each in covering} == {"3.2", "3.3"}


def test_what_pyproject_allows_is_what_is_run() -> None:
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    assert sorted(re.findall(r"Python :: (3\.\d+)", project)) == sorted(PYTHONS)
    assert '">=3.11,<3.14"' in project
    assert '"pyspark>=4.0,<4.3"' in project
    assert '"apache-airflow>=3.2,<4"' in project


def test_versions_that_are_asked_for_are_combined() -> None:
    assert pinned_versions(PINS) == PINNED
    assert asked_versions(None, None, None, PINNED) == []
    assert asked_versions(["3.13"], ["4.2", "4.1"], None, PINNED) == [
        Versions("3.13", "4.2.0", "3.3.2"),
        Versions("3.13", "4.1.3", "3.3.2"),
    ]
    assert asked_versions(None, ["4.0.3"], ["3.2"], PINNED) == [Versions("3.12", "4.0.3", "3.2.2")]


def test_an_environment_has_one_version_of_pyspark_and_of_its_client() -> None:
    assert requirements_with(Versions("3.12", "4.2.0", "3.3.2"), PINS).splitlines() == [
        "apache-airflow==3.3.2",
        "apache-airflow-core==3.3.2",
        "pyspark==4.2.0",
        "pyspark-client==4.2.0",
    ]


def test_what_differs_is_what_is_tested() -> None:
    for other in covering_versions(PINNED):
        for argument in arguments_of(other, PINNED):
            assert not argument.startswith("tests/") or Path(CHECKOUT / argument).exists()
    assert "tests/spark" in arguments_of(Versions("3.12", "4.2.0", "3.3.2"), PINNED)
    assert "tests/dags" in arguments_of(Versions("3.12", "4.1.3", "3.2.2"), PINNED)
