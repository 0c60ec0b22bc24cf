"""R-trees in the one choice: taken where boxes ask for them, left where two b-trees serve more."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from query_events import query_events
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.night.stage_functions import stage_function
from starskip.skipping import user_functions
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

FILES, ROWS = 8, 400
DEGREES = 80.0
DAY = date(2026, 11, 20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files along a diagonal each: all of them have every lat and every lng, but few of the pairs."""
    found = tmp_path / "places"
    found.mkdir()
    for number in range(FILES):
        random = np.random.default_rng(number)
        lat = random.uniform(0, DEGREES, ROWS)
        rows = {
            "lat": lat,
            "lng": (lat + number * DEGREES / FILES) % DEGREES,
            "payload": [random.bytes(60).hex() for _ in range(ROWS)],
        }
        path = found / f"part-{number}.parquet"
        pq.write_table(pa.table(rows), path)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return found


def bound(name: str, column: str, value: float) -> dict[str, Any]:
    arguments = [{"column": [column], "type": "double"}, {"literal": value, "type": "double"}]
    return {"call": name, "arguments": arguments}


def both(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"call": "And", "arguments": list(parts)}


def between(column: str, low: float, high: float) -> dict[str, Any]:
    return both(bound("GreaterThanOrEqual", column, low), bound("LessThanOrEqual", column, high))


CORNERS = np.random.default_rng(7).uniform(0, DEGREES - 4, (40, 2)).round(3).tolist()
BOXES = [both(between("lat", lat, lat + 4), between("lng", lng, lng + 4)) for lat, lng in CORNERS]
ALONE = [
    between(column, start, start + 0.05)
    for column in ("lat", "lng")
    for start in np.linspace(0, DEGREES - 1, 40).round(3).tolist()
]
"""Ranges of one column that few of the files have a row in, since they have few rows."""


def advised(folder: Path, predicates: Sequence[dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    """The advice of a night of these queries, by index."""
    logs = folder.parent / "events"
    logs.mkdir()
    (logs / "log").write_text(query_events(folder, predicates, DAY))
    night = Night(
        run_date=DAY,
        store=ArtefactStore(storage_for(str(folder.parent / "artefacts"))),
        # Tiny files are not much larger than their index.
        settings=settings_with(max_secondary_size_ratio=1.0),
        started_at=datetime.now(UTC),
        run_id="test",
        lake_tables={"places": LakeTable(str(folder))},
        event_log_paths=[str(logs)],
    )
    for stage in STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]:
        stage_function(stage)(LocalEngine(), night)
    snapshot = night.store.snapshot("secondary_advice", night.date_text)
    assert snapshot is not None
    return {row["index"]: row for row in snapshot.read_table(["places"]).to_pylist()}


def verdicts(advice: Mapping[str, dict[str, Any]]) -> dict[str, tuple[str, str | None]]:
    return {name: (row["verdict"], row["reason"]) for name, row in advice.items()}


def test_boxes_have_an_r_tree_chosen(folder: Path) -> None:
    advice = advised(folder, BOXES)
    assert verdicts(advice) == {
        "btree:lat": ("refused", "needs_another"),
        "btree:lng": ("refused", "needs_another"),
        "rtree:lat,lng": ("chosen", None),
    }
    sizes = {name: row["size_bytes"] for name, row in advice.items()}
    assert sizes["rtree:lat,lng"] < sizes["btree:lat"] + sizes["btree:lng"]
    assert advice["rtree:lat,lng"]["individual_saving_ratio"] > 0.5


def test_two_b_trees_are_chosen_where_each_column_is_asked_for_by_itself(folder: Path) -> None:
    advice = advised(folder, [*BOXES, *ALONE])
    assert verdicts(advice) == {
        "btree:lat": ("chosen", None),
        "btree:lng": ("chosen", None),
        "rtree:lat,lng": ("refused", "covered_by_chosen"),
    }
    assert "btree" in advice["rtree:lat,lng"]["detail"]


def test_an_r_tree_that_only_an_unknown_function_asks_for_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_functions, "_by_name", {})
    point = [{"column": [name], "type": "double"} for name in ("lat", "lng")]
    polygon = {"literal": "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))", "type": "string"}
    within = {"call": "udf:st_contains", "arguments": [polygon, *point]}
    advice = advised(folder, [*ALONE, within])
    assert verdicts(advice) == {
        "btree:lat": ("chosen", None),
        "btree:lng": ("chosen", None),
        "rtree:lat,lng": ("refused", "cannot_be"),
    }
    assert "in skipping.modules" in advice["rtree:lat,lng"]["detail"]
