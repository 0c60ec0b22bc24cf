"""The calendar of nights, and the runs that its button starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starskip.airflow.report_places import DAG_ID, URL_PREFIX

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CALENDAR = f"/dags/{DAG_ID}/calendar"


@pytest.fixture(autouse=True)
def no_run_is_left_over(server: Any) -> Iterator[None]:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        session.query(DagRun).filter(DagRun.state.in_(("queued", "running"))).delete()
    yield


def test_the_calendar_leads_to_nights_and_chooses_days(server: Any) -> None:
    answer = server.get(CALENDAR)
    assert answer.status_code == 200
    server.check_headers(answer)
    assert f'href="{URL_PREFIX}/dags/{DAG_ID}/nights/{server.night}"' in answer.text
    assert f'href="{URL_PREFIX}{CALENDAR}?first=2026-11-17"' in answer.text
    day = server.get(f"{CALENDAR}?first=2026-11-17").text
    assert "--from-date 2026-11-17 --to-date 2026-11-17T23:59:59" in day and "not run" in day
    server.add_run("of-one-table", {"run_date": "2026-11-16", "tables": ["lineitem"]}, state="queued")
    some = server.get(f"{CALENDAR}?first=2026-11-16&last={server.night}").text
    assert "3 days" in some and "not run: 2" in some and "--reprocess-behavior failed" in some
    swapped = server.get(f"{CALENDAR}?first={server.night}&last=2026-11-16").text
    assert f"--from-date 2026-11-16 --to-date {server.night}T" in swapped
    for asked in ("first=2026-11-18&last=2999-01-01", "first=2999-01-01", "first=2020-01-01&last=2026-11-01"):
        assert server.get(f"{CALENDAR}?{asked}").status_code == 404


def test_who_may_start_runs_repeats_a_day_and_is_led_to_its_run(server: Any) -> None:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    day = f"{CALENDAR}?first=2026-11-17"
    assert "<button" not in server.get(day, "viewer").text.split("<main>")[1]
    assert "Run 2026-11-17</button>" in server.get(day, "admin").text
    again = server.get(f"{CALENDAR}?first={server.night}", "admin").text
    assert f"Run {server.night} again</button>" in again and "--reprocess-behavior completed" in again

    answer = server.post(f"{CALENDAR}/2026-11-17/repeat", {"night": "2026-11-17"})
    assert answer.status_code == 303
    with create_session() as session:
        (run,) = session.query(DagRun).filter(DagRun.state == "queued").all()
        assert (run.conf, run.triggering_user_name) == ({"run_date": "2026-11-17"}, "admin")
        assert (str(run.state), run.note) == ("queued", "Night of 2026-11-17")
    place = answer.headers["Location"].removeprefix(URL_PREFIX)
    assert "Night of 2026-11-17" in server.get(place).text
    # While it is not over, a second one leads to the first.
    second = server.post(f"{CALENDAR}/2026-11-17/repeat", {"night": "2026-11-17"})
    assert second.headers["Location"] == answer.headers["Location"]
    waiting = server.get(day, "admin").text
    assert "queued" in waiting and "Run 2026-11-17</button>" not in waiting


def test_an_experiment_that_runs_keeps_nobody_from_running_its_night(server: Any) -> None:
    def told(name: str, **conf: Any) -> str:
        server.add_run(name, {"run_date": "2026-11-17", **conf}, state="running")
        return str(server.get(f"{CALENDAR}?first=2026-11-17", "admin").text)

    button = "Run 2026-11-17</button>"
    assert button in told("changed", **{"advice.max_indexes": 3})
    assert button in told("dry", publish="no")
    assert button not in told("usual", **{"publish": "auto", "tables": [], "advice.max_indexes": None})


def test_a_run_that_publishes_other_settings_is_the_run_of_its_night(server: Any) -> None:
    server.add_run(
        "says-yes", {"run_date": "2026-11-17", "advice.max_indexes": 3, "publish": "yes"}, "running"
    )
    assert "running" in server.get(f"{CALENDAR}?first=2026-11-17", "admin").text.split("<main>")[1]
    assert "Run 2026-11-17</button>" not in server.get(f"{CALENDAR}?first=2026-11-17", "admin").text


def test_a_day_that_cannot_be_run_is_refused(server: Any) -> None:
    for day, form, status in (
        ("2999-01-01", "2999-01-01", 404),
        ("yesterday", "yesterday", 404),
        ("2026-11-17", "2026-11-16", 422),
    ):
        assert server.post(f"{CALENDAR}/{day}/repeat", {"night": form}).status_code == status
