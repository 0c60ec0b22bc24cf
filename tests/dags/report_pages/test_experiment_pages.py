"""Pages of experiments: beside the night's advice, marked, and with links that stay where they belong."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.airflow.report_places import DAG_ID, URL_PREFIX
from starskip.night.experiments import note_experiment
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.staged_write import file_safe

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

BANNER = "Experiment of run a trial: advice.max_indexes = 3; it is not the night&#39;s advice."
TRIAL = f"{URL_PREFIX}/dags/{DAG_ID}/experiments/trial"


def links(answer: Any) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]*)"', answer.text)


@pytest.mark.parametrize("page", ["nights/{night}", "tables/lineitem/{night}"])
def test_a_page_of_the_night_leads_to_its_experiments_and_back(server: Any, page: str) -> None:
    page = page.format(night=server.night)
    of_night = server.get(f"{server.of_dag}/{page}")
    assert BANNER not in of_night.text
    assert "1 experiment beside this night&#39;s advice" in of_night.text.replace("'", "&#39;")
    assert f"{TRIAL}/tables/lineitem/{server.night}" in links(of_night) or f"{TRIAL}/{page}" in links(
        of_night
    )
    aside = server.get(f"{server.of_dag}/experiments/trial/{page}")
    assert aside.status_code == 200
    assert BANNER in aside.text and "<code>publish</code>" in aside.text
    assert "experiment beside" not in aside.text
    assert f"{URL_PREFIX}{server.of_dag}/nights/{server.night}" in links(aside)


def test_the_files_of_an_experiment_are_its_own(server: Any) -> None:
    aside = server.get(f"{server.of_dag}/experiments/trial/tables/lineitem/{server.night}/evidence")
    (frame,) = (each for each in links(aside) if each.endswith("report.html"))
    assert frame == f"{TRIAL}/tables/lineitem/{server.night}/report.html"
    shown = server.get(frame.removeprefix(URL_PREFIX))
    assert BANNER in shown.text
    assert BANNER not in server.get(f"{server.of_dag}/tables/lineitem/{server.night}/report.html").text
    markdown = server.get(f"{server.of_dag}/experiments/trial/tables/lineitem/{server.night}/report.md")
    assert "Experiment of run a trial" in markdown.text


def test_nothing_of_an_experiment_is_decided(server: Any) -> None:
    page, posting = f"tables/lineitem/{server.night}", 'method="post"'
    assert posting in server.get(f"{server.of_dag}/{page}", "admin").text
    assert posting not in server.get(f"{server.of_dag}/experiments/trial/{page}", "admin").text
    for form in ("decide", "what-if"):
        asked = server.ask("POST", f"{server.of_dag}/experiments/trial/{page}/{form}", "admin")
        assert asked.status_code == 405


def test_there_is_no_other_experiment(server: Any) -> None:
    for name, night in (("no-such", server.night), ("trial", "2026-11-19"), ("%2e%2e", server.night)):
        asked = server.ask_literally(f"{server.of_dag}/experiments/{name}/nights/{night}")
        assert asked.status_code == 404


def test_the_tab_of_a_run_shows_its_experiment(server: Any, store: ArtefactStore) -> None:
    place = Experiment("2026-11-07", file_safe("manual__tried"))
    aside = ArtefactStore(store.storage, experiment=place)
    at = datetime(2026, 11, 8, tzinfo=UTC)
    night = Night(date(2026, 11, 7), aside, Settings(), at, "manual__tried", changed={"advice.unit": "ms"})
    note_experiment(night, ["lineitem"])
    server.add_run("manual__tried", {"run_date": "2026-11-07", "advice.unit": "ms"})
    answer = server.get(f"/runs/{DAG_ID}/manual__tried")
    assert "Experiment of run manual__tried: advice.unit = ms" in answer.text
