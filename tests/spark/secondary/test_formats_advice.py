"""Secondary indexes of Delta and Iceberg tables in nights: chosen for what formats do not leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights, call, column, id_between, literal
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.lake.lake_table import LakeTable
from starskip.night.quality.check_stage import check_stage
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality, pytest.mark.table_formats]
FILES, ROWS = 6, 300
TO_ADVICE = STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]
PAIRS = [
    call(
        "And",
        call("EqualTo", column("customer"), literal(user)),
        call("Contains", column("note", "string"), literal(f"w{(user + user % FILES) % 50:02}x", "string")),
    )
    for user in range(40)
]


class PairNights(SkippingNights):
    """Nights of a table each of whose files holds all customers and all words, but few of their pairs."""

    name: str
    place: str

    @property
    def lake(self) -> Path:
        return Path(self.place)

    def fill(self) -> None:
        """Write the files: the ids of each are its own."""
        word = f"lpad(string((id * 7 + id div {ROWS}) % 50), 2, '0')"
        self.spark.sql(
            f"INSERT INTO {self.name} SELECT id, (id * 7) % 50 AS customer, "
            f"concat('the word is w', {word}, 'x') AS note, repeat(sha2(string(id), 256), 2) AS payload "
            f"FROM range(0, {FILES * ROWS}, 1, {FILES})"
        )

    def at(self, through: tuple[str, ...]) -> Night:
        night = self.night(lake_tables={"sales": LakeTable(self.place)})
        for stage in through:
            self.stage(stage, night)
        return night


@pytest.fixture(params=["delta", "iceberg"])
def nights(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, warehouse: Path
) -> PairNights:
    made = PairNights(tmp_path, spark, settings_with(max_secondary_size_ratio=1.0))
    made.name, made.place = new_table(request.param, tmp_path, warehouse)
    spark.sql(
        f"CREATE TABLE {made.name} (id bigint, customer bigint, note string, payload string) "
        f"USING {request.param}"
    )
    made.fill()
    return made


def test_a_pair_is_chosen_built_and_proved(nights: PairNights) -> None:
    nights.log(PAIRS)
    night = nights.at(TO_ADVICE)
    found = {row["index"]: row for row in nights.rows("secondary_advice", night)}
    assert {name for name, row in found.items() if row["verdict"] == "chosen"} == {
        "btree:customer",
        "ngram:note",
    }, (found, nights.properties("secondary_advice", night))
    for stage in STAGE_NAMES[len(TO_ADVICE) :]:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    verdicts = nights.rows("secondary_verdicts", night)
    assert {row["verdict"] for row in verdicts} == {"equal"}
    assert {row["files_total"] for row in verdicts} == {FILES}
    section = nights.report(night)["sections"]["secondary"]
    assert {each["outcome"] for each in section["chosen"]} == {"created"}
    plain, read = (
        sum(each[f"{kind}_bytes_read"] for each in section["replayed"]) for kind in ("plain", "skipping")
    )
    assert read < 0.4 * plain
    # What was predicted is what Spark leaves alone.
    skipping.enable(nights.spark)
    files, asked = 0, range(0, 40, 5)
    for user in asked:
        word = f"w{(user + user % FILES) % 50:02}x"
        nights.spark.sql(
            f"SELECT * FROM {nights.name} WHERE customer = {user} AND contains(note, '{word}')"
        ).collect()
        files += skipping.last_query_stats(nights.spark)[0]["files_read"]
    skipping.disable(nights.spark)
    told = nights.properties("secondary_advice", night)
    assert abs(1 - files / (len(asked) * FILES) - told["saving_ratio"]) < 0.1


def test_what_the_format_leaves_alone_is_no_merit_of_an_index(nights: PairNights) -> None:
    nights.log([id_between(start, start + 50) for start in range(0, 1_700, 90)])
    night = nights.at(TO_ADVICE)
    advice = {row["index"]: row for row in nights.rows("secondary_advice", night)}
    assert (advice["btree:id"]["verdict"], advice["btree:id"]["reason"]) == ("refused", "saves_nothing")
    # The rest is what queries read of files that the format does not leave alone.
    assert 0 < nights.properties("secondary_advice", night)["total_rows"] < 19 * 2 * ROWS + ROWS
