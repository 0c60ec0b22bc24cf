"""The advice of a published night, in the form in which it is decided on and applied."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starskip.advisor.deployment.advised_change import change_of_file, change_of_night, newest_advice
from starskip.advisor.deployment.replayed_workload import night_workload
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.run.night import Night
from starskip.advisor.run.table_by_table import failed_parts
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_table
from starskip.errors import MissingSource
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.schemas import RECOMMENDATIONS

NOW = datetime(2026, 11, 19, tzinfo=UTC)


def row(verdict: str, kind: str, column: str, rank: int | None = None) -> dict[str, Any]:
    told = {"table": "events", "verdict": verdict, "kind": kind, "column": column, "rank": rank}
    ratios = {"progressive_saving_ratio": 0.3, "individual_saving_ratio": 0.5}
    return {**dict.fromkeys(RECOMMENDATIONS.names), **told, **ratios, "size_bytes": 10}


def tree(pair: str) -> dict[str, Any]:
    entry = {"dimensionsSplitOrder": ["country"], "functionColumnPairs": [pair]}
    return {
        "family": "star_tree",
        "columns": ["country"],
        "saving_ratio": 0.2,
        "size_bytes": 20,
        "config": {"tableIndexConfig": {"starTreeIndexConfigs": [entry]}},
        "shapes": ["s1"],
    }


@pytest.fixture
def night(tmp_path: Path) -> Night:
    night = Night(date(2026, 11, 18), ArtefactStore(LocalStorage(tmp_path)), Settings(), NOW, "test")
    rows = [
        row("chosen", "range", "ts", 2),
        row("chosen", "inverted", "country", 1),
        row("refused", "inverted", "city"),
        row("drop", "inverted", "idle"),
    ]
    properties = {
        "combined": {
            "saving_ratio": 0.8,
            "interval": [0.7, 0.9],
            "parts": {"indexes": 0.4, "star_tree": 0.4},
        },
        "answers": [tree("COUNT__*"), tree("SUM__price")],
    }
    staged = night.store.staged_write("recommendations", night.date_text)
    files = staged.write("events", pa.Table.from_pylist(rows, schema=RECOMMENDATIONS))
    night.publish("recommendations", {"events": Part(files, properties)})
    shapes = workload_table([ShapeWorkload("events", "s1", "SELECT ?", "SELECT 1", queries=3)])
    files = night.store.staged_write("workload", night.date_text).write("events", shapes)
    night.publish("workload", {"events": Part(files)})
    return night


def test_advice_is_ranked_and_trees_of_the_same_columns_are_told_apart(night: Night) -> None:
    change = change_of_night(night, "events")
    names = [each.name for each in change.indexes]
    assert names[:2] == ["inverted:country", "range:ts"]
    assert names[-1] == "without_inverted:idle"
    trees = names[2:4]
    assert len(set(trees)) == 2
    assert all(name.startswith("star_tree:country#") for name in trees)
    assert (change.source, change.saving_ratio, change.interval) == ("2026-11-18", 0.8, (0.7, 0.9))
    # Of the entries in filters each saves 30 % beside the other, together 40 % of all entries.
    assert [each.saving_ratio for each in change.indexes[:3]] == pytest.approx([0.2, 0.2, 0.2])
    assert [each.alone_ratio for each in change.indexes[:2]] == [0.5, 0.5]
    assert change.indexes[0].config == {"tableIndexConfig": {"invertedIndexColumns": ["country"]}}
    assert change.indexes[2].shapes == ("s1",)
    assert [each.name for each in change.only(["range:ts"]).indexes] == ["range:ts"]


def test_a_table_of_one_half_has_its_advice_under_its_name_without_a_type(night: Night) -> None:
    assert change_of_night(night, "events_OFFLINE") == change_of_night(night, "events")


@pytest.mark.parametrize(("trusted", "known_ms"), [(True, 30.0), (False, None)])
def test_times_are_promised_where_the_latency_model_is_trusted(
    tmp_path: Path, trusted: bool, known_ms: float | None
) -> None:
    index = {
        "family": "inverted",
        "columns": ["country"],
        "config": {},
        "saving_ratio": 0.4,
        "saving_ms": 30.0,
    }
    told = {
        "indexes": [index],
        "combined": {"saving_ratio": 0.4, "interval": [0.3, 0.5]},
        "latency": {"trusted": trusted, "ms_per_query": 60.0},
        "predicted_saving_ms": 30.0,
        "predicted_interval_ms": [27.0, 33.0],
    }
    file = tmp_path / "tune.json"
    file.write_text(json.dumps({"tables": {"events": told}}))
    change = change_of_file(str(file), "events_OFFLINE", {"tableName": "events_OFFLINE"})
    assert change.table == "events"
    assert change.time == (TimeSaving(60.0, 30.0, 27.0, 33.0) if trusted else None)
    assert [each.saving_ms for each in change.indexes] == [known_ms]


def test_a_table_without_advice_is_named(night: Night) -> None:
    with pytest.raises(MissingSource, match="table other has no recommendation of 2026-11-18"):
        change_of_night(night, "other")


def test_the_workload_is_that_of_the_night_or_of_the_newest(night: Night) -> None:
    set_of_a_person = "2026-11-18 what-if of ann, 2026-11-19 08:00:00"
    for asked in ("2026-11-18", "2026-11-01", "advice.json", "2026-advice.json", set_of_a_person):
        assert [each.shape_id for each in night_workload(night.store, "events", asked)] == ["s1"]
    assert [each.shape_id for each in night_workload(night.store, "events_OFFLINE", "2026-11-18")] == ["s1"]
    assert night_workload(night.store, "other", "2026-11-18") == []


def test_the_newest_advice_on_a_table_is_none_of_a_night_of_other_tables_or_a_failed_one(
    night: Night,
) -> None:
    later = [replace(night, run_date=date(2026, 11, day)) for day in (19, 20)]
    later[0].publish("recommendations", {"orders": Part(())})
    later[1].publish("recommendations", failed_parts({"events": "boom"}))
    assert newest_advice(night.store, "events") == "2026-11-18"
    assert newest_advice(night.store, "events_OFFLINE") == "2026-11-18"
    assert newest_advice(night.store, "events", after="2026-11-18") == ""
    assert newest_advice(night.store, "orders") == "2026-11-19"
    assert newest_advice(night.store, "no_such") == ""
