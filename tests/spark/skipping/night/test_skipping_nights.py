"""Skipping indexes of a lake table over nights, on real Spark: chosen, built, kept, taken away, proved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gate_checks import failed_checks
from pyspark.sql import SparkSession
from settings_with import settings_with
from skip_choice import advise_skipping_alone
from skipping_nights import FILES, SkippingNights, call, column, customer_is, id_between, literal, next_day
from skipping_tables import aged
from starskip.advisor.families.skipping import skipping_gate
from starskip.advisor.families.skipping.refresh_skipping_indexes import refresh_skipping_indexes
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.execution.local_engine import LocalEngine
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.skipping_engine import MatchingRows
from starskip.night.quality.check_stage import check_stage
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.spark import skipping
from starskip.spark.skipping import spark_skipping_engine
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]

RANGES = [id_between(start, start + 300) for start in range(0, 4_000, 190)]
CUSTOMERS = [customer_is(value) for value in range(3, 9_000, 450)]
OF_UDF = call(
    "EqualTo", call("udf:of_another_application", column("note", "string")), literal("road", "string")
)
ROOMY = settings_with(max_skipping_size_ratio=1.0, min_gain_ratio=0.01, verified_instances=2)


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> SkippingNights:
    made = SkippingNights(tmp_path, spark, ROOMY)
    made.write_files()
    return made


def index_on(indexes: list[str], name: str) -> str:
    (found,) = [each for each in indexes if each.split(":")[1] == name]
    return found


def test_what_queries_ask_decides_what_is_built_and_the_gain_is_proved(nights: SkippingNights) -> None:
    nights.log([*RANGES, *CUSTOMERS, OF_UDF])
    night = nights.night()
    advised = nights.advise(night)
    chosen = nights.chosen(night)
    assert advised.chosen == len(chosen) == 2
    assert index_on(chosen, "id").startswith(("minmax:", "gaplist:"))
    assert index_on(chosen, "customer").split(":")[0] in ("valuelist", "bloom", "hybrid")
    told = nights.properties("skipping_advice", night)
    assert (told["files"], told["rows"], told["sampled_files"], told["note"]) == (FILES, 4_800, FILES, None)
    assert told["saving_ratio"] > 0.7
    assert told["size_bytes"] <= told["budget_bytes"]
    refused = {row["index"]: row["reason"] for row in nights.rows("skipping_advice", night) if row["reason"]}
    assert refused["minmax:customer"] in ("saves_nothing", "below_min_gain")

    built = nights.build(night)
    assert built.counts["created"] == 2
    assert skipping.list_indexes(nights.spark, str(nights.lake)) == sorted(chosen)
    assert all(check.passed for check in check_stage(night, "refresh_skipping_indexes"))

    proved = nights.verify(night)
    rows = nights.rows("skipping_verdicts", night)
    assert set(proved.counts) == {"skipping_equal", "skipping_not_comparable"}
    of_udf = [row for row in rows if row["verdict"] == "not_comparable"]
    assert len(of_udf) == 1 and "of_another_application" in of_udf[0]["detail"]
    ran = [row for row in rows if row["verdict"] == "equal"]
    assert {row["plain_files_read"] for row in ran} == {row["files_total"] for row in ran} == {FILES}
    assert sum(row["skipping_files_read"] for row in ran) < 0.4 * FILES * len(ran)


def test_a_table_of_the_lake_alone_goes_through_the_whole_night_to_its_report(nights: SkippingNights) -> None:
    nights.log([*RANGES, *CUSTOMERS])
    night = nights.night()
    for stage in STAGE_NAMES:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    told = nights.report(night)
    assert told["lake_only"]
    assert {index["outcome"] for index in told["skipping"]["chosen"]} == {"created"}
    assert {shape["verdict"] for shape in told["skipping"]["replayed"]} == {"equal"}
    assert told["skipping"]["queries"] == len(RANGES) + len(CUSTOMERS)


def test_what_spark_says_of_a_query_that_fails_is_told_without_its_literals(nights: SkippingNights) -> None:
    secret = call("EqualTo", column("id"), literal("secret-4711", "string"))
    nights.log([*RANGES, secret])
    night = nights.run()
    nights.verify(night)
    details = [row["detail"] for row in nights.rows("skipping_shapes", night) if row["detail"]]
    details += [row["detail"] for row in nights.rows("skipping_verdicts", night) if row["detail"]]
    assert len([each for each in details if "CAST_INVALID_INPUT" in each]) == 2
    assert not any("4711" in each for each in details)


def test_indicators_of_each_shape_are_those_of_the_files(nights: SkippingNights) -> None:
    """One file of twelve holds what a range of half a file asks: lambda is a half, mu is 1."""
    nights.log([id_between(400 * file + 100, 400 * file + 300) for file in range(FILES)])
    night = nights.night()
    nights.advise(night)
    (shape,) = nights.rows("skipping_shapes", night)
    assert shape["verdict"] == "defined"
    assert shape["selectivity"] == pytest.approx(200 / 4_800)
    assert shape["layout_factor"] == pytest.approx(0.5)
    assert shape["metadata_factor"] == pytest.approx(1.0)
    assert shape["scanning_factor"] == pytest.approx(1 / FILES)
    means = nights.properties("skipping_advice", night)["means"]
    assert means["scanning_factor"] == pytest.approx(
        means["selectivity"] / (means["layout_factor"] * means["metadata_factor"])
    )


def test_a_query_without_a_matching_row_has_no_indicators_and_is_told_of(nights: SkippingNights) -> None:
    nights.log([id_between(0, 10), id_between(90_000, 90_010), id_between(90_000, 90_010)])
    night = nights.night()
    nights.advise(night)
    counts = nights.properties("skipping_advice", night)["counts"]
    assert counts == {"defined": 1, "no_matching_rows": 1, "rows_lost": 0, "not_evaluated": 0}


def test_a_layout_that_no_metadata_mends_is_told_of_with_the_order_that_would(nights: SkippingNights) -> None:
    asked = [
        call("And", *(call(name, column("customer"), literal(bound)) for name, bound in between))
        for low in range(0, 18_000, 900)
        for between in [(("GreaterThanOrEqual", low), ("LessThan", low + 800))]
    ]
    nights.log(asked)
    night = nights.night()
    nights.advise(night)
    told = nights.properties("skipping_advice", night)
    assert "layout, not metadata, is the problem" in told["layout"]
    assert told["relayout"] == ["customer"]
    assert nights.chosen(night) == []
    reasons = {row["index"]: row["reason"] for row in nights.rows("skipping_advice", night)}
    assert reasons["minmax:customer"] == "layout"


def test_the_budget_holds(nights: SkippingNights) -> None:
    nights.settings = settings_with(ROOMY, max_skipping_size_ratio=0.02)
    nights.log([*RANGES, *CUSTOMERS])
    night = nights.night()
    nights.advise(night)
    told = nights.properties("skipping_advice", night)
    assert told["size_bytes"] <= told["budget_bytes"] == int(0.02 * told["bytes"])
    over = [row for row in nights.rows("skipping_advice", night) if row["reason"] == "over_storage_budget"]
    assert over


def test_another_night_reads_new_files_alone(nights: SkippingNights) -> None:
    nights.log(RANGES)
    nights.run()
    nights.log(RANGES, next_day())
    second = nights.run(nights.night(next_day()))
    assert set(nights.outcomes(second).values()) == {"unchanged"}
    assert nights.properties("skipping_builds", second)["files_read"] == 0
    nights.write_files(FILES, 2)
    (nights.lake / "part-000.parquet").unlink()
    nights.log(RANGES, next_day(2))
    third = nights.run(nights.night(next_day(2)))
    assert set(nights.outcomes(third).values()) == {"refreshed"}
    told = nights.properties("skipping_builds", third)
    assert (told["files_read"], told["files_gone"], told["files"]) == (2, 1, FILES + 1)
    assert failed_checks(third, "refresh_skipping_indexes", "sales") == []


def test_a_day_without_queries_keeps_and_refreshes_what_there_is(nights: SkippingNights) -> None:
    nights.log(RANGES)
    first = nights.run()
    nights.settings = settings_with(ROOMY, look_back_nights=1)
    nights.write_files(FILES, 1)
    second = nights.run(nights.night(next_day()))
    assert (
        nights.properties("skipping_advice", second)["note"] == "the event logs hold no query of this table"
    )
    assert nights.outcomes(second) == dict.fromkeys(nights.chosen(first), "refreshed")


def test_another_workload_replaces_the_nights_indexes_but_not_those_made_by_hand(
    nights: SkippingNights,
) -> None:
    nights.settings = settings_with(ROOMY, look_back_nights=1)
    nights.log(RANGES)
    skipping.create(nights.spark, str(nights.lake), ["nulls:note"])
    first = nights.run()
    assert nights.outcomes(first) == {
        **dict.fromkeys(nights.chosen(first), "created"),
        "nulls:note": "by_hand",
    }
    nights.log(CUSTOMERS, next_day())
    second = nights.run(nights.night(next_day()))
    expected = {
        **dict.fromkeys(nights.chosen(second), "created"),
        **dict.fromkeys(nights.chosen(first), "deleted"),
        "nulls:note": "by_hand",
    }
    assert nights.outcomes(second) == expected
    assert failed_checks(second, "refresh_skipping_indexes", "sales") == []
    # Until the next night somebody may change their mind.
    skipping.restore(nights.spark, str(nights.lake), nights.chosen(first))
    assert set(nights.chosen(first)) <= set(skipping.list_indexes(nights.spark, str(nights.lake)))


def test_a_run_again_changes_nothing(nights: SkippingNights) -> None:
    nights.log([*RANGES, *CUSTOMERS])
    night = nights.run()
    chosen = nights.chosen(night)
    nights.run(night)
    assert nights.chosen(night) == chosen
    assert set(nights.outcomes(night).values()) == {"unchanged"}


def test_an_older_night_and_one_that_only_advises_build_nothing(nights: SkippingNights) -> None:
    nights.log(RANGES, next_day())
    newest = nights.run(nights.night(next_day()))
    version = nights.properties("skipping_builds", newest)["version"]
    nights.log(CUSTOMERS)
    older = nights.run(nights.night())
    assert set(nights.outcomes(older).values()) == {"not_built"}
    assert "only the newest night builds" in nights.rows("skipping_builds", older)[0]["detail"]
    nights.settings = settings_with(ROOMY, build_indexes=False)
    nights.log(CUSTOMERS, next_day(2))
    advising = nights.run(nights.night(next_day(2)))
    assert set(nights.outcomes(advising).values()) == {"not_built"}
    metadata = open_metadata(nights.properties("skipping_builds", newest)["location"])
    assert metadata is not None and metadata.version == version


def test_metadata_lies_below_the_root_that_the_night_names(nights: SkippingNights) -> None:
    nights.log(RANGES)
    root = nights.root / "metadata"
    night = nights.run(nights.night(skipping_root=str(root)))
    assert nights.properties("skipping_builds", night)["location"].startswith(str(root))
    assert not (nights.lake / "_starskip").exists()
    nights.verify(night)
    read = sum(row["skipping_files_read"] for row in nights.rows("skipping_verdicts", night))
    assert read < sum(row["plain_files_read"] for row in nights.rows("skipping_verdicts", night))


def test_tables_that_cannot_have_any_are_told_why(nights: SkippingNights) -> None:
    nights.log(RANGES)
    night = nights.night()
    nights.advise(night, ["airline", "sales"])
    assert nights.properties("skipping_advice", night, "airline")["note"] == "no lake table is configured"
    nights.build(night)
    assert nights.rows("skipping_builds", night, "airline") == []
    for changes, note in [
        ({"event_log_paths": []}, "no Spark event logs are configured (sources.spark_event_logs)"),
        (
            {"settings": settings_with(ROOMY, index_kinds="inverted")},
            "skipping indexes are not among index_kinds",
        ),
    ]:
        changed = replace(night, **changes)
        advise_skipping_alone(nights.engine, changed, ["sales"])
        assert nights.properties("skipping_advice", changed)["note"] == note
    advise_skipping_alone(LocalEngine(), night, ["sales"])
    assert (
        nights.properties("skipping_advice", night)["note"] == "skipping indexes are measured on Spark alone"
    )
    refresh_skipping_indexes(LocalEngine(), night)
    assert nights.rows("skipping_builds", night) == []


@pytest.mark.parametrize("queries", [RANGES, []], ids=["asked", "never asked"])
def test_a_table_that_is_gone_costs_a_warning_that_names_it(
    nights: SkippingNights, queries: list[dict[str, Any]]
) -> None:
    nights.log(queries)
    for file in nights.lake.iterdir():
        file.unlink()
    nights.lake.rmdir()
    night = nights.night()
    advised = nights.advise(night)
    assert len(advised.warnings) == 1 and str(nights.lake) in advised.warnings[0]
    assert nights.chosen(night) == []


def test_a_predicate_of_a_column_that_is_gone_is_refused_by_name(nights: SkippingNights) -> None:
    of_gone = call("EqualTo", column("old_name"), literal(5))
    nights.log([*RANGES, of_gone])
    night = nights.night()
    nights.advise(night)
    reasons = {row["index"]: row for row in nights.rows("skipping_advice", night) if row["reason"]}
    row = next(row for index, row in reasons.items() if ":old_name" in index)
    assert row["reason"] == "cannot_be"
    assert "old_name" in row["detail"]
    assert nights.properties("skipping_advice", night)["counts"]["not_evaluated"] == 1


def test_a_function_is_ours_only_where_the_night_says_so(nights: SkippingNights) -> None:
    agent = call("EqualTo", call("udf:getagentname", column("note", "string")), literal("curl", "string"))
    nights.log([*RANGES, agent])
    night = nights.run()
    (row,) = [each for each in nights.rows("skipping_advice", night) if each["index"].startswith("formatted")]
    assert row["reason"] == "cannot_be" and "starskip_contrib.user_agents" in row["detail"]
    nights.run(nights.night(skipping_modules=["starskip_contrib.user_agents"]))
    (row,) = [each for each in nights.rows("skipping_advice", night) if each["index"].startswith("formatted")]
    assert row["size_bytes"] and row["reason"] != "cannot_be"


def test_metadata_that_skips_too_much_is_found_and_the_gate_says_so(
    nights: SkippingNights, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.settings = settings_with(ROOMY, look_back_nights=1)
    nights.log([id_between(400 * file, 400 * file + 399) for file in range(FILES)] * 2)
    skipping.create(nights.spark, str(nights.lake), ["minmax:id"])
    night = nights.run()
    nights.verify(night)
    assert {row["verdict"] for row in nights.rows("skipping_verdicts", night)} == {"equal"}
    _publish_no_trees(night)
    assert failed_checks(night, "verify_indexes", "sales") == []

    def flipped(clause: MinMaxClause, metadata: FileMetadata) -> Mask:
        # Not of the two files by which skipping tests itself: it would stay away.
        right = judged(clause, metadata)
        return ~right if metadata.files == FILES else right

    judged = MinMaxClause.may_match
    monkeypatch.setattr(MinMaxClause, "may_match", flipped)
    made = nights.verify(night)
    assert {row["verdict"] for row in nights.rows("skipping_verdicts", night)} == {"different"}
    assert "rows without skipping" in made.warnings[0]
    assert failed_checks(night, "verify_indexes", "sales") == [
        "queries of {table} with skipping and without: answers"
    ]


def _publish_no_trees(night: object) -> None:
    for artefact in ("verdicts", "star_tree_builds"):
        night.publish(artefact, {"sales": Part(())})  # type: ignore[attr-defined]


def test_a_rule_that_loses_rows_shows_in_the_indicators(
    nights: SkippingNights, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.log(RANGES)
    count = spark_skipping_engine.count_matching

    def everywhere(*arguments: object) -> MatchingRows:
        found = count(*arguments)  # type: ignore[arg-type]
        return replace(found, matching=found.matching.clip(min=1))

    monkeypatch.setattr(spark_skipping_engine, "count_matching", everywhere)
    night = nights.night()
    nights.advise(night)
    assert nights.properties("skipping_advice", night)["counts"]["rows_lost"] > 0


@pytest.mark.parametrize("fault", ["gone", "new", "rows", "bounds"])
def test_the_gate_finds_metadata_that_is_not_of_the_files(
    nights: SkippingNights, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.settings = settings_with(ROOMY, look_back_nights=1)
    skipping.create(nights.spark, str(nights.lake), ["minmax:id"])
    nights.log(RANGES)
    night = nights.run()
    assert failed_checks(night, "refresh_skipping_indexes", "sales") == []
    if fault == "gone":
        (nights.lake / "part-003.parquet").unlink()
        expected = "metadata of files that are gone"
    elif fault == "new":
        nights.write_files(FILES, 1)
        expected = "live files without metadata"
    elif fault == "rows":
        path = nights.lake / "part-003.parquet"
        pq.write_table(pq.read_table(path).slice(0, 10), path)
        aged(nights.lake)
        expected = "rows by metadata, and by files"
    else:
        swapped = {"min": "max", "max": "min"}
        column_of = skipping_gate.TableMetadata.column

        def column(metadata: object, index: str, name: str) -> pa.Array:
            return column_of(metadata, index, swapped.get(name, name))  # type: ignore[arg-type]

        monkeypatch.setattr(skipping_gate.TableMetadata, "column", column)
        expected = "files whose least value is above the greatest"
    failed = failed_checks(night, "refresh_skipping_indexes", "sales")
    assert failed == [f"skipping indexes of {{table}}: {expected}"]
