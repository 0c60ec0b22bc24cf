"""The wheel, installed into an empty environment: a deployment that has no checkout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built_release import BuiltRelease
from deployment import CHECKOUT, NIGHT, TABLE, Deployment
from starskip.reports.export_reports import export_reports
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.dags, pytest.mark.spark, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def deployment(release: BuiltRelease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = Deployment.made(tmp_path_factory.mktemp("elsewhere"))
    made.install(release.wheel, ("airflow", "spark"))
    yield made
    # Forty thousand links would else wait for whoever removes old folders of tests.
    shutil.rmtree(made.environment)


@pytest.fixture(scope="module")
def airflow(deployment: Deployment) -> Deployment:
    """The deployment, with a database of Airflow's."""
    deployment.run("airflow", "db", "migrate")
    return deployment


def printed(deployment: Deployment, *lines: str) -> Any:
    """Return what a program prints on its last line, as JSON."""
    return json.loads(deployment.run("python", "-c", "\n".join(lines)).splitlines()[-1])


def test_nothing_of_the_checkout_is_on_a_path(deployment: Deployment) -> None:
    homes, path = printed(
        deployment,
        "import json, sys, starskip, starskip_contrib, starskip_opensearch",
        "homes = [each.__file__ for each in (starskip, starskip_contrib, starskip_opensearch)]",
        "print(json.dumps([homes, sys.path]))",
    )
    assert all(Path(each).is_relative_to(deployment.environment) for each in homes)
    assert [each for each in path if Path(each).is_relative_to(CHECKOUT)] == []


def test_every_entry_point_leads_to_what_is_installed_or_names_its_extra(deployment: Deployment) -> None:
    loaded, refused = printed(
        deployment,
        "import json",
        "from importlib.metadata import distribution",
        "from starskip.errors import StarskipError",
        "loaded, refused = [], []",
        "for each in distribution('starskip').entry_points:",
        "    try:",
        "        loaded.append(f'{each.group} {each.load() and each.name}')",
        "    except StarskipError as error:",
        "        refused.append(str(error))",
        "print(json.dumps([loaded, refused]))",
    )
    assert {"console_scripts starskip", "airflow.plugins starskip_reports"} <= set(loaded)
    assert [each.partition("pip install ")[2] for each in refused] == ["'starskip[opensearch]'"]


def test_a_stage_runs_from_the_command_line(deployment: Deployment) -> None:
    stage = ("stage", "parse_query_logs", "--config", "night.yaml", "--run-date", NIGHT)
    assert "parse_query_logs: lines 1,663" in deployment.run("starskip", *stage)


def test_a_dag_file_of_three_lines_is_the_whole_bundle(airflow: Deployment) -> None:
    assert airflow.parse_dags().split("\n")[-3:] == ["index_advisor_nightly 22 tasks", "", ""]


def test_the_report_pages_are_a_plugin_that_asks_who_one_is(airflow: Deployment) -> None:
    plugins = json.loads(airflow.run("airflow", "plugins", "--output", "json"))
    assert [each["name"] for each in plugins] == ["starskip_reports"]
    answers = printed(
        airflow,
        "import json",
        "from airflow.api_fastapi.app import create_app",
        "from fastapi.testclient import TestClient",
        "client = TestClient(create_app())",
        "print(json.dumps([client.get(each).status_code for each in ('/starskip/', '/starskip/nothing')]))",
    )
    assert answers == [401, 401]


def test_the_night_of_one_table_ends_with_its_report(airflow: Deployment) -> None:
    """Each stage is a job that Spark runs out of the installed package."""
    assert f"finish_night: reports of {TABLE} are published" in airflow.run_night()
    store = ArtefactStore(storage_for(str(airflow.folder / "artefacts")))
    exported = export_reports(store, NIGHT, airflow.folder / "reports")
    assert "OriginState" in exported[TABLE]["report.html"].read_text(encoding="utf-8")
