"""Tables by where they lie: an absent one, such as a half of a hybrid table, stops no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.errors import SourceError
from starskip.lake.lake_table import LakeTable
from starskip.night.night_tables import night_tables
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

Made = Callable[..., Night]
HALVES = ["T_OFFLINE", "T_REALTIME"]
LAKE = {"events": LakeTable("/lake/events")}


@pytest.fixture
def make_night(tmp_path: Path) -> Made:
    def made(folders: list[str], configs: list[str] | None = None, **changes: Any) -> Night:
        (tmp_path / "segments").mkdir()
        for name in folders:
            (tmp_path / "segments" / name).mkdir()
        paths = [tmp_path / f"{name}.json" for name in configs or ()]
        for path in paths:
            path.write_text(json.dumps({"tableName": path.stem, "tableType": path.stem.partition("_")[2]}))
        night = Night(
            date(2026, 11, 20),
            ArtefactStore(storage_for(str(tmp_path / "store"))),
            Settings(),
            datetime(2026, 11, 21, tzinfo=UTC),
            "test",
            segments_root=str(tmp_path / "segments"),
            table_config_paths=[str(path) for path in paths],
        )
        return replace(night, **changes)

    return made


def names(night: Night) -> dict[str, str]:
    return {table: Path(folder).name for table, folder in night_tables(night).folders.items()}


@pytest.mark.parametrize("lake", [{}, LAKE])
@pytest.mark.parametrize("asked", [None, frozenset({"T_OFFLINE", "T_REALTIME", "other"})])
def test_a_half_without_a_folder_is_absent_alone(
    asked: frozenset[str] | None, lake: Any, make_night: Made
) -> None:
    tables = asked if asked is None else asked.union(lake)
    night = make_night(["T_OFFLINE", "other"], HALVES, tables=tables, lake_tables=lake)
    assert names(night) == {"T_OFFLINE": "T_OFFLINE", "other": "other"}
    found = night_tables(night)
    assert found.lake_only == frozenset(lake)
    assert list(found.absent) == ["T_REALTIME"]
    assert found.absent["T_REALTIME"].startswith(
        f"unknown table T_REALTIME: {night.segments_root} has segments of T_OFFLINE, other"
    )
    if asked is not None:
        with pytest.raises(SourceError, match="unknown table T_REALTIME"):
            night_tables(replace(night, is_of_some=True))


@pytest.mark.parametrize("lake", [{}, LAKE])
def test_both_halves_may_share_a_folder(lake: Any, make_night: Made) -> None:
    night = make_night(["T"], HALVES, lake_tables=lake)
    assert names(night) == {"T_OFFLINE": "T", "T_REALTIME": "T"}
    assert night_tables(night).absent == {}


def test_a_half_that_has_the_only_config_is_the_table(make_night: Made) -> None:
    assert names(make_night(["T_OFFLINE"], ["T_OFFLINE"])) == {"T": "T_OFFLINE"}


def test_a_lake_table_with_a_config_and_without_a_folder_is_absent(make_night: Made) -> None:
    night = make_night(["T"], ["T_OFFLINE", "events_OFFLINE"], lake_tables=LAKE)
    assert names(night) == {"T": "T"}
    words = f"unknown table events: {night.segments_root} has segments of T"
    assert night_tables(night).absent == {"events": words}
    with pytest.raises(SourceError, match=r"unknown table events: .* has segments of T$"):
        night_tables(replace(night, tables=frozenset(LAKE)))


def test_a_config_that_cannot_be_read_is_left_to_the_first_stage(make_night: Made) -> None:
    night = make_night(["T"])
    paths = [f"{night.segments_root}/none.json"]
    assert night_tables(replace(night, table_config_paths=paths)).configured == frozenset()


def test_no_folder_at_all_leaves_the_tables_of_the_lake(make_night: Made) -> None:
    night = make_night([])
    with pytest.raises(SourceError, match="holds no table folders"):
        night_tables(night)
    found = night_tables(replace(night, lake_tables=LAKE))
    assert (dict(found.folders), found.lake_only) == ({}, {"events"})
