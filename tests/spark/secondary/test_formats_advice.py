"""Secondary indexes of Delta and Iceberg tables in nights: chosen for what formats do not leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_checks import import_great_expectations
from lake_formats import new_table
from pyspark.sql import SparkSession
from settings_with import settings_with
from skipping_nights import SkippingNights, id_between
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.lake.lake_table import LakeTable

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality, pytest.mark.table_formats]
FILES, ROWS = 6, 300
TO_ADVICE = STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]


@pytest.fixture(scope="module", autouse=True)
def _great_expectations() -> None:
    import_great_expectations()


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


def test_what_the_format_leaves_alone_is_no_merit_of_an_index(nights: PairNights) -> None:
    nights.log([id_between(start, start + 50) for start in range(0, 1_700, 90)])
    night = nights.at(TO_ADVICE)
    advice = {row["index"]: row for row in nights.rows("secondary_advice", night)}
    assert (advice["btree:id"]["verdict"], advice["btree:id"]["reason"]) == ("refused", "saves_nothing")
    # The rest is what queries read of files that the format does not leave alone.
    assert 0 < nights.properties("secondary_advice", night)["total_rows"] < 19 * 2 * ROWS + ROWS
