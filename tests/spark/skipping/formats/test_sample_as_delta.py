"""The sample's lineitem as a Delta table: what a night advises of its log, beside Delta's statistics.

That what is advised is built and proved is shown by the whole night of tests/dags, over the same table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import convert_to_deltalake
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights
from starskip.advisor.run.night import Night
from starskip.lake.lake_table import LakeTable
from starskip.lake.open_lake_table import open_lake_table

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]
SAMPLE = Path(__file__).parents[4] / "include" / "sample"
FILES = 96


@pytest.fixture(scope="module")
def delta(sample_delta: Path) -> str:
    return str(sample_delta)


class SampleNights(SkippingNights):
    """Nights of the sample's event log over its table."""

    def of(self, place: str) -> Night:
        lake = LakeTable(place, logged_as=("file:/lake/lineitem",))
        night = self.night(lake_tables={"lineitem": lake}, event_log_paths=[str(SAMPLE / "spark_events")])
        self.advise(night, ["lineitem"])
        return night

    def told(self, night: Night) -> dict[str, Any]:
        return self.properties("skipping_advice", night, "lineitem")

    def rows_of(self, artefact: str, night: Night) -> list[dict[str, Any]]:
        return self.rows(artefact, night, "lineitem")


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> SampleNights:
    return SampleNights(tmp_path, spark, settings_with(verified_instances=1))


def test_the_table_is_delta_with_the_same_files_and_statistics(delta: str, sample_lake: Path) -> None:
    found = open_lake_table(delta)
    assert (found.table_format, found.files.num_rows, found.version) == ("delta", FILES, 0)
    assert found.bounds is not None and found.files["rows"].null_count == 0
    assert {"min.l_shipdate", "max.l_shipdate", "null_count.l_comment"} <= set(found.bounds.column_names)
    for file in sorted(sample_lake.iterdir()):
        assert (Path(delta) / file.name).read_bytes() == file.read_bytes()


def test_what_delta_skips_by_itself_is_no_gain_of_an_index(
    nights: SampleNights, sample_lake: Path, tmp_path: Path
) -> None:
    plain_files, delta = (tmp_path / each for each in ("plain", "delta"))
    for folder in (plain_files, delta):
        folder.mkdir()
        # Each candidate is collected of each file, twice: every eighth spans the table's dates, too.
        for file in sorted(sample_lake.iterdir())[::8]:
            os.link(file, folder / file.name)
    convert_to_deltalake(str(delta))
    plain = nights.of(str(plain_files))
    of_plain, without = set(_chosen(nights, plain)), nights.told(plain)
    night = nights.of(str(delta))
    chosen, told = _chosen(nights, night), nights.told(night)
    refused = {row["index"]: row["reason"] for row in nights.rows_of("skipping_advice", night)}
    assert refused["minmax:l_shipdate"] == refused["minmax:l_orderkey"] == "covered_by_format"
    assert "minmax:l_shipdate" in {row["index"] for row in nights.rows_of("skipping_advice", plain)}
    assert chosen and not any(each.startswith(("minmax:", "nulls:", "partition:")) for each in chosen)
    # The same queries and files: Delta alone reads less than plain files, and an index less of that.
    assert (told["queries"], told["bytes"]) == (without["queries"], without["bytes"])
    assert told["total_bytes"] < 0.9 * without["total_bytes"]
    print("plain", sorted(of_plain), without["saving_ratio"], without["total_bytes"])
    print("delta", chosen, told["saving_ratio"], told["total_bytes"])


def _chosen(nights: SampleNights, night: Night) -> list[str]:
    found = [row for row in nights.rows_of("skipping_advice", night) if row["verdict"] == "chosen"]
    return [row["index"] for row in sorted(found, key=lambda row: row["rank"])]
