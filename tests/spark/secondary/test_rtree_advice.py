"""An r-tree that the night has chosen for boxes is built, gated, proved, and used by Spark's rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights, call, column, literal
from skipping_tables import aged
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.quality.check_stage import check_stage
from starskip.spark import skipping
from starskip.spark.skipping.table_finder import metadata_changed

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]
FILES, ROWS = 8, 400
DEGREES = 80.0


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> SkippingNights:
    """Files along a diagonal each: all of them have every lat and every lng, but few of the pairs."""
    # Tiny files are not much larger than their index.
    found = SkippingNights(tmp_path, spark, settings_with(max_secondary_size_ratio=1.0))
    found.lake.mkdir(parents=True)
    for number in range(FILES):
        random = np.random.default_rng(number)
        lat = random.uniform(0, DEGREES, ROWS)
        rows = pa.table(
            {
                "lat": lat,
                "lng": (lat + number * DEGREES / FILES) % DEGREES,
                "kind": random.integers(0, 3, ROWS),
                "payload": [random.bytes(60).hex() for _ in range(ROWS)],
            }
        )
        pq.write_table(rows, found.lake / f"part-{number}.parquet")
    aged(found.lake)
    return found


def between(name: str, low: float, high: float) -> dict[str, Any]:
    bounds = (
        call("GreaterThanOrEqual", column(name, "double"), literal(low, "double")),
        call("LessThanOrEqual", column(name, "double"), literal(high, "double")),
    )
    return call("And", *bounds)


def corners(count: int) -> list[tuple[float, float]]:
    random = np.random.default_rng(7)
    return [(float(lat), float(lng)) for lat, lng in random.uniform(0, DEGREES - 4, (count, 2)).round(3)]


BOXES = [call("And", between("lat", lat, lat + 4), between("lng", lng, lng + 4)) for lat, lng in corners(40)]


def chosen(nights: SkippingNights, night: Any) -> dict[str, dict[str, Any]]:
    rows = nights.rows("secondary_advice", night)
    assert {row["index"] for row in rows} == {"btree:lat", "btree:lng", "rtree:lat,lng"}
    return {row["index"]: row for row in rows}


def test_boxes_have_an_r_tree_chosen_built_proved_and_used(nights: SkippingNights) -> None:
    nights.log(BOXES)
    night = nights.night()
    for stage in STAGE_NAMES:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    found = chosen(nights, night)
    assert {name: row["verdict"] for name, row in found.items()} == {
        "btree:lat": "refused",
        "btree:lng": "refused",
        "rtree:lat,lng": "chosen",
    }
    assert found["btree:lat"]["reason"] == "needs_another"
    assert found["rtree:lat,lng"]["size_bytes"] < (
        found["btree:lat"]["size_bytes"] + found["btree:lng"]["size_bytes"]
    )
    assert {row["verdict"] for row in nights.rows("secondary_verdicts", night)} == {"equal"}
    told = nights.properties("secondary_advice", night)["saving_ratio"]
    metadata_changed()
    skipping.enable(nights.spark)
    rows = nights.spark.read.parquet(str(nights.lake))
    read = by_skipping = 0
    for lat, lng in corners(40):
        where = f"lat BETWEEN {lat}D AND {lat + 4}D AND lng BETWEEN {lng}D AND {lng + 4}D"
        rows.where(where).collect()
        (stats,) = skipping.last_query_stats(nights.spark)
        assert set(stats["skipped_by"]) == {"geobox:lat,lng", "rtree:lat,lng"}
        by_skipping += FILES - stats["skipped_by"]["geobox:lat,lng"]
        read += stats["files_read"]
    skipping.disable(nights.spark)
    # What is told is what the r-tree saves beside the skipping index that is chosen with it.
    assert 0.2 < told == pytest.approx((by_skipping - read) / (40 * FILES), abs=0.01)
