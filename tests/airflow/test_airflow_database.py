"""The work of ``make setup`` on Airflow's database, once a version of Airflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starskip.airflow import airflow_database

ALL = [
    "airflow db migrate",
    "airflow dags reserialize",
    "airflow pools set index_advisor_apply 1 One Pinot table at a time",
]


@pytest.fixture
def commands() -> list[str]:
    """The commands that were run, each by a program that does nothing but make the file."""
    return []


@pytest.fixture
def setup(tmp_path: Path, commands: list[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    for name in ("AIRFLOW_HOME", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"):
        monkeypatch.delenv(name, raising=False)

    def run(exit_code: int = 0, why: str | None = None) -> Result:
        def follow(command: Sequence[str], *_: Any) -> tuple[int, str | None]:
            commands.append(" ".join(command))
            (tmp_path / ".airflow" / "airflow.db").touch()
            return exit_code, why

        monkeypatch.setattr(airflow_database, "follow_command", follow)
        return CliRunner().invoke(airflow_database.airflow_database)

    return run


def test_the_database_is_made_once_and_again_by_another_version(
    setup: Callable[..., Result], commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert setup().output.endswith('eval "$(.venv/bin/python -m starskip.airflow.airflow_environment)"\n')
    assert setup().exit_code == 0
    assert commands == ALL
    monkeypatch.setattr(airflow_database, "version", lambda _: "of tomorrow")
    setup()
    assert commands == ALL * 2


def test_a_database_that_is_gone_is_made_anew(
    setup: Callable[..., Result], commands: list[str], tmp_path: Path
) -> None:
    setup()
    (tmp_path / ".airflow" / "airflow.db").unlink()
    setup()
    assert commands == ALL * 2


def test_a_database_of_the_callers_is_asked_each_time(
    setup: Callable[..., Result], commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql+psycopg2://me@db/airflow")
    setup()
    setup()
    assert commands == ALL * 2


def test_what_failed_is_one_line_and_tried_again(setup: Callable[..., Result], commands: list[str]) -> None:
    ran = setup(1, "no such host")
    assert ran.exit_code == 1
    assert "Error: airflow db migrate failed: no such host\nThe full log is " in ran.output
    setup()
    assert commands == [ALL[0], *ALL]
