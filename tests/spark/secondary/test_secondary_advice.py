"""Secondary indexes in the one choice: chosen for what skipping cannot do, from logged queries of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights, call, column, id_between, literal
from skipping_tables import aged
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.quality.check_stage import check_stage
from starskip.spark import skipping
from starskip.spark.skipping.table_finder import metadata_changed

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]
FILES, ROWS = 6, 300
TO_ADVICE = STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> SkippingNights:
    """A table each of whose files holds all users and all words, but few of their pairs."""
    # Tiny files are not much larger than their index.
    found = SkippingNights(tmp_path, spark, settings_with(max_secondary_size_ratio=1.0))
    found.lake.mkdir(parents=True)
    for number in range(FILES):
        random = np.random.default_rng(number)
        users = random.integers(0, 50, ROWS)
        rows = pa.table(
            {
                "id": np.arange(number * ROWS, (number + 1) * ROWS),
                "customer": users,
                "note": [f"the word is w{(user + number) % 50:02}x" for user in users.tolist()],
                "payload": [random.bytes(60).hex() for _ in range(ROWS)],
            }
        )
        pq.write_table(rows, found.lake / f"part-{number}.parquet")
    aged(found.lake)
    return found


def pair(customer: int, word: int) -> dict[str, Any]:
    return call(
        "And",
        call("EqualTo", column("customer"), literal(customer)),
        call("Contains", column("note", "string"), literal(f"w{word:02}x", "string")),
    )


PAIRS = [pair(user, (user + user % FILES) % 50) for user in range(40)]


def advised(nights: SkippingNights, **changes: Any) -> Night:
    night = nights.night(**changes)
    for stage in TO_ADVICE:
        nights.stage(stage, night)
    return night


def verdicts(nights: SkippingNights, night: Night) -> dict[str, tuple[str, str | None]]:
    return {row["index"]: (row["verdict"], row["reason"]) for row in nights.rows("secondary_advice", night)}


def test_a_pair_of_indexes_is_chosen_that_leaves_alone_what_none_of_them_does(nights: SkippingNights) -> None:
    nights.log(PAIRS)
    night = advised(nights)
    found = {row["index"]: row for row in nights.rows("secondary_advice", night)}
    assert {name for name, row in found.items() if row["verdict"] == "chosen"} == {
        "btree:customer",
        "ngram:note",
    }
    told = nights.properties("secondary_advice", night)
    assert told["note"] is None
    assert {row["files_sampled"] for row in found.values()} == {FILES}
    for stage in STAGE_NAMES[len(TO_ADVICE) :]:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    assert {row["verdict"] for row in nights.rows("secondary_verdicts", night)} == {"equal"}
    section = nights.report(night)["sections"]["secondary"]
    assert {each["outcome"] for each in section["chosen"]} == {"created"}
    assert sum(each["skipping_bytes_read"] for each in section["replayed"]) < 0.3 * sum(
        each["plain_bytes_read"] for each in section["replayed"]
    )
    # What was predicted is what Spark leaves alone.
    metadata_changed()
    skipping.enable(nights.spark)
    rows = nights.spark.read.parquet(str(nights.lake))
    read = 0
    for each in range(40):
        where = f"customer = {each} AND contains(note, 'w{(each + each % FILES) % 50:02}x')"
        rows.where(where).collect()
        read += skipping.last_query_stats(nights.spark)[0]["files_read"]
    skipping.disable(nights.spark)
    # A file that a candidate for skipping leaves alone, n-grams of notes among them, does not count, even if
    # that one was not chosen.
    assert 0 <= 1 - read / (40 * FILES) - told["saving_ratio"] < 0.02


def test_what_skipping_leaves_alone_is_no_merit_of_a_secondary_index(nights: SkippingNights) -> None:
    nights.log([id_between(start, start + 50) for start in range(0, 1_700, 90)])
    night = advised(nights)
    assert any(row["verdict"] == "chosen" for row in nights.rows("skipping_advice", night))
    assert verdicts(nights, night) == {"btree:id": ("refused", "saves_nothing")}


def test_what_does_not_fit_is_refused_with_its_size(nights: SkippingNights) -> None:
    nights.settings = settings_with(max_secondary_size_ratio=0.001)
    nights.log(PAIRS)
    night = advised(nights)
    assert set(verdicts(nights, night).values()) == {("refused", "over_storage_budget")}


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"event_log_paths": []}, "no Spark event logs are configured"),
        ({"lake_tables": {}}, "no lake table is configured"),
    ],
)
def test_why_nothing_is_advised(nights: SkippingNights, changes: dict[str, Any], note: str) -> None:
    nights.log(PAIRS)
    night = nights.night(**changes)
    nights.advise(night)
    from starskip.advisor.families.measured import skipped_by_any
    from starskip.advisor.families.secondary.advice.publish_advice import measured_secondary

    found = measured_secondary(nights.engine, night, "sales", skipped_by_any(()))
    advice, _ = found.advise((), 0.0)
    assert found.skips is None
    assert note in str(advice.properties["note"])
