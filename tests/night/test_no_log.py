"""A night that nobody logged: it fails in one line, publishes no advice and leaves what there is."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.errors import SourceError
from starskip.lake.lake_table import LakeTable
from starskip.night.expire_snapshots import tidied_words
from starskip.night.night_logs import look_for_log

pytestmark = pytest.mark.slow

UNLOGGED = date(2026, 11, 15)
DATED = ("queries", "rejected_records", "votes", "recommendations", "reports")


def test_a_log_of_other_days_alone(lab: Any) -> None:
    with pytest.raises(SourceError, match="no log of 2026-11-15: 1 log files hold no record of that day"):
        lab.run(lab.night(run_date=UNLOGGED))
    assert all(not lab.night().store.run_dates(artefact) for artefact in DATED)


@pytest.mark.parametrize("date_in_name", [False, True])
def test_a_look_at_the_log_finds_it_out(date_in_name: bool, lab: Any) -> None:
    look_for_log(lab.night())
    if date_in_name:
        (path,) = lab.logs.iterdir()
        path.rename(lab.logs / f"broker-{UNLOGGED}.log.gz")
    with pytest.raises(SourceError, match="no log of 2026-11-15: 1 log files hold no record of that day"):
        look_for_log(lab.night(run_date=UNLOGGED))
    with pytest.raises(SourceError, match="no log file at"):
        look_for_log(lab.night(log_paths=[str(lab.logs / "none-{run_date}.log")]))


def test_a_look_at_a_long_log_of_other_days_ends(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starskip.night.night_logs._MOST_BYTES", 1_000)
    look_for_log(lab.night(run_date=UNLOGGED))


def test_tables_of_the_lake_alone_need_no_log(lab: Any) -> None:
    lake = {"alone": LakeTable(str(lab.root), {})}
    unlogged = {"run_date": UNLOGGED, "lake_tables": lake}
    look_for_log(lab.night(**unlogged, segments_root=""))
    look_for_log(lab.night(**unlogged, tables=frozenset({"alone"})))
    with pytest.raises(SourceError, match="no log of 2026-11-15"):
        look_for_log(lab.night(**unlogged, tables=frozenset({"alone", "lineitem"})))


def test_an_empty_folder(lab: Any) -> None:
    for path in lab.logs.iterdir():
        path.unlink()
    with pytest.raises(SourceError, match="no log of 2026-11-20: 0 log files"):
        lab.run()


def test_a_path_by_day_that_names_nothing(lab: Any) -> None:
    paths = [str(lab.logs / "broker-{run_date}.log")]
    with pytest.raises(SourceError, match=r"no log file at .*broker-2026-11-15\.log"):
        lab.run(lab.night(run_date=UNLOGGED, log_paths=paths))


def test_a_night_that_runs_again_after_its_log_has_gone_keeps_its_advice(lab: Any, log_line: Any) -> None:
    lab.run()
    before = {artefact: lab.published(artefact) for artefact in DATED}
    for path in lab.logs.iterdir():
        path.unlink()
    other_day = log_line("lineitem", "SELECT COUNT(*) FROM lineitem").replace("2026/11/20", "2026/11/17")
    lab.log(other_day, name="other-day.log")
    with pytest.raises(SourceError, match="no record of that day and 1 of other days"):
        lab.run()
    assert {artefact: lab.published(artefact) for artefact in DATED} == before


def test_a_table_that_nobody_asked_on_a_day_that_has_a_log_is_no_missing_log(lab: Any, log_line: Any) -> None:
    for path in lab.logs.iterdir():
        path.unlink()
    lab.log(log_line("airlineStats", "SELECT COUNT(*) FROM airlineStats WHERE Carrier = 'AA'"))
    lab.run(lab.night(tables=frozenset({"lineitem"})))
    assert set(lab.published("reports")) == {"lineitem"}


def test_the_end_of_a_night_takes_old_nights_away_and_says_how_many(lab: Any) -> None:
    night = lab.run()
    for path in Path(night.store.storage.root).rglob("*"):
        os.utime(path, (0, 0))
    later = replace(
        night,
        run_date=date(2026, 11, 21),
        started_at=datetime.now(UTC),
        settings=settings_with(night.settings, nights=1, look_back_nights=1),
    )
    (path,) = lab.logs.iterdir()
    day = gzip.decompress(path.read_bytes()).decode()
    lab.log(day.replace("2026/11/20", "2026/11/21"), name="later.log")
    lab.run(later)
    assert tidied_words(later)[0].startswith("1 nights retired, ")
    held = {a: night.store.snapshot(a, "2026-11-20") for a in night.store.artefacts()}
    assert not any(snapshot.tables for snapshot in held.values() if snapshot)
    assert set(lab.published("reports", later)) == {"airlineStats", "lineitem"}
