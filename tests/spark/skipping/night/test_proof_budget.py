"""The proof of skipping indexes within a budget of bytes, on real Spark, from its verdicts to the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights, call, column, customer_is, id_between, literal
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.quality.check_stage import check_stage

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]


def test_a_small_budget_proves_the_largest_savers_and_the_report_says_what_was_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    nights = SkippingNights(tmp_path, spark)
    nights.write_files()
    unknown = call("udf:of_another_application", column("note", "string"))
    of_udf = call("EqualTo", unknown, literal("road", "string"))
    ranges = [id_between(start, start + 300) for start in range(0, 4_000, 190)]
    nights.log([*ranges, *(customer_is(value) for value in range(3, 9_000, 450)), of_udf])
    table_bytes = sum(path.stat().st_size for path in nights.lake.iterdir())
    # Each query is expected to read the table twice, and reads less.
    nights.settings = settings_with(
        max_skipping_size_ratio=1.0,
        min_gain_ratio=0.01,
        verified_instances=2,
        proof_table_bytes=int(3.5 * table_bytes),
    )
    night = nights.night()
    for stage in STAGE_NAMES:
        made = nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
        if stage == "verify_indexes":
            proved = made
    rows = nights.rows("skipping_verdicts", night)
    asked = [(row["instance"], row["verdict"]) for row in rows if row["verdict"] != "not_proved"]
    # A query that Spark cannot plan reads nothing.
    assert sorted(asked) == [(1, "equal"), (1, "equal"), (1, "not_comparable")]
    read = sum(row["plain_bytes_read"] + row["skipping_bytes_read"] for row in rows if row["files_total"])
    assert read <= 3.5 * table_bytes
    unasked = [row for row in rows if row["verdict"] == "not_proved"]
    assert [row["instance"] for row in unasked] == [2, 2]
    assert proved.counts["skipping_not_proved"] == 2
    assert f"table sales: skipping: 2 of 5 queries were not proved: {unasked[0]['detail']}" in proved.warnings
    told = nights.report(night)["skipping"]
    assert told["not_proved"].startswith("3 of 5 queries were asked both ways: of 3 of 3 query shapes")
    assert {each["instances"] for each in told["replayed"]} == {1}
