"""Nights over a Delta and over an Iceberg table: what is advised, built, proved and reported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import (
    SkippingNights,
    call,
    column,
    customer_is,
    id_between,
    literal,
    next_day,
)
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.errors import SourceError
from starskip.lake.lake_table import LakeTable
from starskip.night.quality.check_stage import check_stage
from starskip.secondary.lifecycle import create_indexes
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality, pytest.mark.table_formats]
TITLES = {"delta": "Delta", "iceberg": "Iceberg"}
FILES = 8


class FormatNights(SkippingNights):
    """Nights over the table ``name`` in SQL, which lies at ``place``."""

    name: str
    place: str

    @property
    def lake(self) -> Path:
        return Path(self.place)

    def append(self, file: int, files: int = 1) -> None:
        """Write ``files`` from one on: ids rise from file to file, customers are spread over all."""
        self.spark.sql(
            f"INSERT INTO {self.name} SELECT id, (id * 7919) % 20011 AS customer, concat('n', id % 9) "
            f"AS note FROM range({file * 400}, {(file + files) * 400}, 1, {files})"
        )

    def at(self, **changes: Any) -> Night:
        return self.night(lake_tables={"sales": LakeTable(self.place)}, **changes)


@pytest.fixture(params=list(TITLES))
def nights(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, warehouse: Path
) -> FormatNights:
    # The files are small, so that a filter takes a large part of their bytes.
    made = FormatNights(tmp_path, spark, settings_with(max_skipping_size_ratio=0.9))
    made.name, made.place = new_table(request.param, tmp_path, warehouse)
    spark.sql(f"CREATE TABLE {made.name} (id bigint, customer bigint, note string) USING {request.param}")
    made.append(0, FILES)
    return made


def proved(nights: FormatNights, night: Night) -> list[dict[str, Any]]:
    """Return the verdicts, all of which must be that rows are equal."""
    nights.verify(night)
    verdicts = nights.rows("skipping_verdicts", night)
    assert verdicts and [row["detail"] for row in verdicts if row["verdict"] != "equal"] == []
    return verdicts


def asked_customers(count: int = 12) -> list[dict[str, Any]]:
    return [customer_is(number * 7919 % 20011) for number in range(5, 5 + 97 * count, 97)]


def ranges() -> list[dict[str, Any]]:
    return [id_between(low, low + 300) for low in range(0, 3000, 500)]


def test_what_the_format_lacks_is_built_and_proved(nights: FormatNights) -> None:
    nights.log([*asked_customers(), *ranges()])
    night = nights.at()
    nights.advise(night)
    told = nights.properties("skipping_advice", night)
    assert nights.chosen(night) == ["bloom:customer"], (told, nights.rows("skipping_advice", night))
    title = TITLES[format_of(nights)]
    refused = {row["index"]: row for row in nights.rows("skipping_advice", night)}["minmax:id"]
    assert refused["reason"] == "covered_by_format"
    assert refused["detail"] == f"not used, because {title}'s own statistics skip these files already"
    # What the ranges read is what the format leaves, of which a filter of customers saves nothing.
    shapes = {row["skeleton"]: row for row in nights.rows("skipping_shapes", night)}
    by_customer, by_range = sorted(shapes.values(), key=lambda row: "customer" not in row["skeleton"])
    assert by_customer["saving_ratio"] == pytest.approx(7 / 8, abs=0.05) and by_range["saving_ratio"] == 0

    nights.build(night)
    assert nights.outcomes(night) == {"bloom:customer": "created"}
    assert skipping.list_indexes(nights.spark, nights.place) == ["bloom:customer"]
    verdicts = proved(nights, night)
    of_customers = [row for row in verdicts if row["shape_id"] == by_customer["shape_id"]]
    assert {row["files_total"] for row in verdicts} == {FILES}
    assert all(row["plain_files_read"] == FILES and row["skipping_files_read"] <= 2 for row in of_customers)
    of_ranges = [row for row in verdicts if row["shape_id"] == by_range["shape_id"]]
    assert all(row["plain_files_read"] == row["skipping_files_read"] <= 2 for row in of_ranges)
    # The prediction is beside the format's own skipping: the proof reads as much less.
    plain, less = (sum(row[f"{kind}_bytes_read"] for row in verdicts) for kind in ("plain", "skipping"))
    assert told["total_bytes"] < told["bytes"] * told["queries"]
    assert 0.3 < told["saving_ratio"] < 1 and less < plain


def test_the_night_after_knows_new_files_and_what_was_rewritten(nights: FormatNights) -> None:
    nights.log(asked_customers())
    nights.run(nights.at())
    nights.append(FILES)
    nights.spark.sql(f"DELETE FROM {nights.name} WHERE id >= 400 AND id < 800")
    nights.log(asked_customers(), next_day())
    after = nights.at(day=next_day())
    nights.advise(after)
    assert nights.chosen(after) == ["bloom:customer"]
    nights.build(after)
    assert nights.outcomes(after) == {"bloom:customer": "refreshed"}
    assert [verdict.passed for verdict in check_stage(after, "refresh_skipping_indexes")] == [True]
    verdicts = proved(nights, after)
    assert {row["files_total"] for row in verdicts} == {FILES}
    assert all(row["skipping_files_read"] <= 2 for row in verdicts)


def test_it_goes_through_the_whole_night_to_its_report(nights: FormatNights) -> None:
    nights.log([*asked_customers(), *ranges()])
    night = nights.at()
    for stage in STAGE_NAMES:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    told = nights.report(night)
    skipping_told = told["skipping"]
    assert [each["outcome"] for each in skipping_told["chosen"]] == ["created"]
    assert {each["verdict"] for each in skipping_told["replayed"]} == {"equal"}
    reasons = {each["specification"]: each["reason"] for each in skipping_told["refused"]}
    assert reasons["minmax:id"] == reasons["minmax:customer"] == "covered_by_format"
    # What format and filters leave alone is no merit of a secondary index, and none fits beside small files.
    secondary = {row["index"]: row for row in nights.rows("secondary_advice", night)}
    assert {each["verdict"] for each in secondary.values()} == {"refused"}, secondary
    assert {each["reason"] for each in secondary.values()} <= {"saves_nothing", "over_storage_budget"}
    assert {"btree:customer", "btree:id"} <= set(secondary)


def test_partitions_are_the_formats_own(nights: FormatNights) -> None:
    name, nights.name = nights.name, f"{nights.name[:-1]}_p`" if "`" in nights.name else f"{nights.name}_p"
    nights.place = f"{nights.place}_p"
    nights.spark.sql(
        f"CREATE TABLE {nights.name} USING {format_of(nights)} PARTITIONED BY (part) "
        f"AS SELECT *, id % 3 AS part FROM {name}"
    )
    by_part = [call("EqualTo", column("part"), literal(value)) for value in (0, 1, 2)]
    nights.log([*asked_customers(), *by_part])
    night = nights.at()
    nights.advise(night)
    rows = {row["index"]: row for row in nights.rows("skipping_advice", night)}
    of_part = {index: row for index, row in rows.items() if index.endswith(":part")}
    assert of_part and not {row["verdict"] for row in of_part.values()} - {"refused"}
    assert any("partitioned by part" in (row["detail"] or "") for row in of_part.values()), of_part
    assert "customer" in " ".join(nights.chosen(night))
    nights.build(night)
    files = {row["plain_files_read"] for row in proved(nights, night) if row["answer_rows"] > 100}
    assert files and max(files) < nights.properties("skipping_advice", night)["files"]


@pytest.mark.parametrize("nights", ["iceberg"], indirect=True)
def test_files_of_other_formats_are_read_and_not_indexed(nights: FormatNights) -> None:
    nights.spark.sql(f"ALTER TABLE {nights.name} SET TBLPROPERTIES ('write.format.default'='orc')")
    nights.append(FILES)
    nights.log(asked_customers())
    night = nights.run(nights.at())
    assert nights.chosen(night) == ["bloom:customer"]
    assert [verdict.passed for verdict in check_stage(night, "refresh_skipping_indexes")] == [True]
    read = [row["skipping_files_read"] for row in proved(nights, night)]
    assert min(read) >= 1 and max(read) <= 3  # that of ORC among them
    nights.spark.sql(f"INSERT OVERWRITE {nights.name} SELECT * FROM {nights.name}")
    told = f"{nights.place}: this Iceberg table has orc files alone: skipping indexes are of Parquet files"
    with pytest.raises(SourceError, match=re.escape(told)):
        skipping.create(nights.spark, nights.place, ["bloom:id"])
    with pytest.raises(SourceError, match="this Iceberg table has orc files, which are read by Spark alone"):
        create_indexes(nights.place, ["btree:id"])
    after = nights.at(day=next_day())
    nights.log(asked_customers(), next_day())
    nights.advise(after)
    assert nights.properties("skipping_advice", after)["note"] == told


@pytest.mark.parametrize("nights", ["iceberg"], indirect=True)
def test_a_column_renamed_since_the_last_write_is_asked_by_its_new_name(nights: FormatNights) -> None:
    nights.spark.sql(f"ALTER TABLE {nights.name} RENAME COLUMN customer TO buyer")
    asked = [
        call("EqualTo", column("buyer"), literal(number * 7919 % 20011)) for number in range(5, 1200, 97)
    ]
    nights.log(asked)
    night = nights.run(nights.at())
    assert nights.chosen(night) == ["bloom:buyer"]
    verdicts = proved(nights, night)
    assert {row["answer_rows"] for row in verdicts} == {1}
    assert max(row["skipping_files_read"] for row in verdicts) <= 2


def test_a_table_whose_queries_the_format_serves_has_no_indexes(nights: FormatNights) -> None:
    nights.log(ranges())
    night = nights.at()
    nights.advise(night)
    rows = nights.rows("skipping_advice", night)
    assert [row for row in rows if row["verdict"] == "chosen"] == [], rows
    nights.build(night)
    assert nights.outcomes(night) == {}
    assert not (nights.lake / "_starskip").exists()


def format_of(nights: FormatNights) -> str:
    return "delta" if nights.name.startswith("delta.") else "iceberg"
