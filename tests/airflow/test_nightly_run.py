"""Work of ``make night`` around the night itself, which test_whole_night runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from report_cases import lineitem
from starskip.advisor.run.night import Night
from starskip.errors import ConfigError
from starskip.night.experiments import note_experiment
from starskip.reports.report_files import report_files
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for
from tiny_disk import run_on_tiny_disk

pytestmark = [pytest.mark.slow, pytest.mark.dags]

CHECKOUT = Path(__file__).parents[2]
NIGHT = "2026-11-20"
Run = Callable[..., Result]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """``make night`` with tasks that do nothing and end as told."""
    from starskip.airflow import nightly_run

    (tmp_path / "night.yaml").write_text("store: {artefacts: artefacts}\nsources: {segments_root: .}\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of the caller")
    monkeypatch.setenv("STARSKIP_CONFIG", str(tmp_path / "night.yaml"))
    monkeypatch.setattr(nightly_run, "migrate_database", lambda *_: None)
    mask = os.umask(0o022)

    def run(*options: str, ends: tuple[int, str | None] = (0, None)) -> Result:
        monkeypatch.setattr(nightly_run, "follow_command", lambda *_: ends)
        given = ["--run-date", NIGHT, "--home", str(tmp_path / "home"), "--reports", str(tmp_path / "copies")]
        return CliRunner().invoke(nightly_run.nightly_run, [*given, *options])

    yield run
    os.umask(mask)


def publish_nothing(folder: Path) -> None:
    """A night whose only table has a report without files."""
    store = ArtefactStore(storage_for(str(folder / "artefacts")))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    store.publish("reports", NIGHT, {}, replace="all", created_at=at, created_by="test")


def test_copies_inside_the_artefacts_are_refused_and_the_night_has_ended_well(
    night: Run, tmp_path: Path
) -> None:
    publish_nothing(tmp_path)
    assert night().stderr == ""
    ran = night("--reports", str(tmp_path / "artefacts" / "reports"))
    assert ran.exit_code == 0
    assert ran.stderr.startswith("The night ended well, but its reports were not copied: ")
    assert "lies in the folder of the artefacts" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_night_that_failed_says_why_and_not_that_there_is_nothing_to_copy(night: Run) -> None:
    ran = night(ends=(1, "no log of 2026-11-20"))
    assert ran.exit_code == 1
    assert ran.stderr.startswith("Error: no log of 2026-11-20\n")
    ran = night(ends=(1, None))
    assert ran.stderr.startswith(f"Error: no reports of {NIGHT}: run that night first\n")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("s3://night/cfg/night.yaml", "s3://night/cfg/night.yaml"),
        ("file:///srv/night.yaml", "file:///srv/night.yaml"),
        ("file:/srv/night.yaml", "file:/srv/night.yaml"),
        ("/srv/night.yaml", "/srv/night.yaml"),
        ("mine/night.yaml", f"{Path.cwd()}/mine/night.yaml"),
        ("", f"{Path.cwd()}/include/config/night.yaml"),
    ],
)
def test_the_configuration_may_lie_in_an_object_store(
    night: Run, monkeypatch: pytest.MonkeyPatch, given: str, used: str
) -> None:
    from starskip.airflow import nightly_run

    asked: list[Any] = []

    def read(config: Any, arguments: Any, environment: Mapping[str, str]) -> Any:
        asked.extend([config, environment["STARSKIP_CONFIG"]])
        raise ConfigError("that is all", setting="")

    monkeypatch.setenv("STARSKIP_CONFIG", given)
    monkeypatch.setattr(nightly_run, "night_from_config", read)
    assert "that is all" in night().stderr
    assert asked == [used, used]


def test_the_keys_of_the_connection_read_the_reports_too(night: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.airflow import nightly_run

    seen = []
    monkeypatch.setattr(
        nightly_run, "night_from_config", lambda *_: seen.append(os.environ["AWS_SECRET_ACCESS_KEY"])
    )
    monkeypatch.setattr(nightly_run, "experiments_of", lambda *_: ())
    monkeypatch.setattr(nightly_run, "export_reports", lambda *_: {})
    connection = {"conn_type": "aws", "login": "a", "password": "of the connection"}
    monkeypatch.setenv("AIRFLOW_CONN_STARSKIP_STORE", json.dumps(connection))
    night()
    assert seen == ["of the connection"]


def test_the_run_is_not_dated_to_the_midnight_of_its_night(
    night: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow takes the date of ``dags test`` for the time at which the run began."""
    from starskip.airflow import nightly_run

    commands: list[list[str]] = []
    publish_nothing(tmp_path)
    night()

    def follow(command: list[str], *_: Any) -> tuple[int, None]:
        commands.append(command)
        return 0, None

    monkeypatch.setattr(nightly_run, "follow_command", follow)
    CliRunner().invoke(nightly_run.nightly_run, ["--run-date", NIGHT, "--home", str(tmp_path / "home")])
    ((*words, conf),) = commands
    assert words == ["airflow", "dags", "test", "index_advisor_nightly", "--conf"]
    assert json.loads(conf)["run_date"] == NIGHT


@pytest.mark.parametrize(("said", "mode"), [([], 0o600), (["--reports-readable-by", "all"], 0o644)])
def test_copies_of_reports_are_readable_by_whom_one_says(
    night: Run, tmp_path: Path, said: list[str], mode: int
) -> None:
    store = ArtefactStore(storage_for(str(tmp_path / "artefacts")))
    aside = store.staged_write("reports", NIGHT)
    document = report_files(lineitem())["report.json"]
    part = Part((aside.write_file("lineitem", "report.json", document),))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    store.publish("reports", NIGHT, {"lineitem": part}, replace="all", created_at=at, created_by="test")
    assert night(*said).exit_code == 0
    copy = tmp_path / "copies" / NIGHT / "lineitem" / "report.json"
    assert copy.stat().st_mode & 0o777 == mode
    assert copy.parent.stat().st_mode & 0o777 == {0o600: 0o700, 0o644: 0o755}[mode]


def test_an_experiment_is_said_to_be_one_and_its_copies_lie_beside_those_of_the_night(
    night: Run, tmp_path: Path
) -> None:
    publish_nothing(tmp_path)
    place = Experiment(NIGHT, "t-x")
    store = ArtefactStore(storage_for(str(tmp_path / "artefacts")), experiment=place)
    document = report_files(lineitem())["report.json"]
    part = Part((store.staged_write("reports", NIGHT).write_file("lineitem", "report.json", document),))
    tried = Night(
        date(2026, 11, 20), store, Settings(), datetime.now(UTC), "manual__1", changed={"advice.unit": "ms"}
    )
    tried.publish("reports", {"lineitem": part})
    note_experiment(tried, ["lineitem"])
    assert "Experiment" not in night().stdout, "an earlier one"
    note_experiment(replace(tried, started_at=datetime.now(UTC) + timedelta(minutes=1)), ["lineitem"])
    ran = night()
    assert "Experiment of run manual__1: advice.unit = ms; it is not the night's advice." in ran.stdout
    assert "--publish yes" in ran.stdout
    assert (tmp_path / "copies" / "experiments" / "t-x" / NIGHT / "lineitem" / "report.json").exists()
    assert not (tmp_path / "copies" / NIGHT).exists()


@pytest.mark.parametrize("publish", ["auto", "yes", "no"])
def test_whether_to_publish_is_a_param(
    night: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publish: str
) -> None:
    from starskip.airflow import nightly_run

    commands: list[list[str]] = []
    publish_nothing(tmp_path)
    night()
    monkeypatch.setattr(
        nightly_run, "follow_command", lambda command, *_: (commands.append(command), (0, None))[1]
    )
    given = ["--run-date", NIGHT, "--home", str(tmp_path / "home"), "--publish", publish]
    CliRunner().invoke(nightly_run.nightly_run, [*given, "--set", "advice.max_indexes=3"])
    asked = json.loads(commands[0][-1])
    assert asked["publish"] == publish and asked["advice.max_indexes"] == 3


def test_a_full_disk_is_one_line_that_names_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = [
        sys.executable,
        "-m",
        "starskip.airflow.nightly_run",
        "--run-date",
        NIGHT,
        "--home",
        home,
    ]
    ran = run_on_tiny_disk(home, "100k", command)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"Error: {home}/logs: No space left on device: the disk mounted at {home} is full")


def test_home_and_log_are_nobody_elses(night: Run, tmp_path: Path) -> None:
    publish_nothing(tmp_path)
    night()
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_the_sample_keeps_its_artefacts_beside_the_copies_of_its_reports() -> None:
    from starskip.airflow.nightly_run import SAMPLE_CONFIG, nightly_run
    from starskip.night.configuration.night_from_config import NightArguments, night_from_config

    at = datetime(2026, 11, 21, tzinfo=UTC)
    arguments = NightArguments(at.date(), "test", at)
    storage = night_from_config(CHECKOUT / SAMPLE_CONFIG, arguments, {}).store.storage
    (copies,) = [CHECKOUT / option.default for option in nightly_run.params if option.name == "reports"]
    assert isinstance(storage, LocalStorage)
    assert storage.root.parent == copies.parent == CHECKOUT / "night"
    assert not copies.is_relative_to(storage.root)
