"""Skipping indexes in a table's report, out of the night's artefacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starskip.advisor.families.family_section import SectionSource
from starskip.advisor.families.secondary.report.section import SECTION as SECONDARY
from starskip.advisor.families.skipping.report.collect_section import skipping_report
from starskip.advisor.families.skipping.report.section import SECTION as SKIPPING
from starskip.advisor.families.skipping.report.section_data import (
    EvaluatedQueries,
    OtherSkippingIndex,
    RefusedSkippingIndex,
    SkippingFactors,
    SkippingIndexes,
)
from starskip.advisor.run.night import Night
from starskip.settings import Settings
from starskip.storage import lake_schemas
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

Rows = Sequence[Mapping[str, Any]]
CHOSEN = [
    ("minmax:day", 1, 0.5, 0.5, 4_096),
    ("bloom:user:0.05", 2, 0.3, 0.125, 70_000),
    ("length_range:name,title:9", 3, 0.1, 0.0625, None),
]
SHAPES = [
    ("s1", "day >= ? AND day < ?", 20.5, 6_000, "defined", 0.01, 0.5, 0.8, 0.025, 0.975),
    ("s2", "user = ?", 4.0, 2_000, "no_matching_rows", None, None, None, None, 1.0),
    ("s3", "f(user)", 1.0, 9_000, "not_evaluated", None, None, None, None, None),
]
MEANS = {"selectivity": 0.01, "layout_factor": 0.5, "metadata_factor": 0.8, "scanning_factor": 0.025}
ADVISED = {
    "note": None,
    "files": 40,
    "rows": 1_000,
    "bytes": 900_000,
    "queries": 25.5,
    "total_bytes": 17_000,
    "saving_ratio": 0.6875,
    "size_bytes": 74_096,
    "budget_bytes": None,
    "sentence": "3 of 4 indexes, 74096 bytes, save 68.75% of what is read",
    "sampled_files": 40,
    "means": MEANS,
    "counts": {"defined": 12, "no_matching_rows": 2, "rows_lost": 0, "not_evaluated": 1},
    "layout": "layout, not metadata, is the problem of 3 of 12 queries",
    "relayout": ["user"],
}
BUILT = {
    "location": "/lake/_metadata/sales",
    "version": 7,
    "files": 41,
    "rows": 1_024,
    "metadata_bytes": 75_000,
    "files_read": 3,
    "note": None,
}


@dataclass(frozen=True)
class Published:
    """A night, and what it publishes of table ``sales``."""

    night: Night

    def add(self, artefact: str, rows: Rows, properties: Mapping[str, Any] | None = None) -> None:
        schema: pa.Schema = getattr(lake_schemas, artefact.upper())
        blank = dict.fromkeys(schema.names) | {"table": "sales"}
        written = self.night.store.staged_write(artefact, self.night.date_text).write(
            "sales", pa.Table.from_pylist([blank | dict(row) for row in rows], schema)
        )
        self.night.publish(artefact, {"sales": Part(written, properties or {})})

    def advise(self, **changes: Any) -> None:
        chosen = [
            {
                "verdict": "chosen",
                "index": index,
                "rank": rank,
                "individual_saving_ratio": alone,
                "progressive_saving_ratio": added,
                "size_bytes": size,
            }
            for index, rank, alone, added, size in reversed(CHOSEN)
        ]
        refused = {"verdict": "refused", "index": "nulls:day", "reason": "no_query", "detail": "none asks"}
        self.add("skipping_advice", [*chosen, refused], {**ADVISED, **changes})

    def shape(self, *shapes: Sequence[Any]) -> None:
        names = ("shape_id", "skeleton", "queries", "bytes_read", "verdict", *MEANS, "saving_ratio")
        self.add("skipping_shapes", [dict(zip(names, shape, strict=True)) for shape in shapes])

    @property
    def report(self) -> SkippingIndexes:
        found = skipping_report(self.night, "sales")
        assert found is not None
        return found


@pytest.fixture
def published(tmp_path: Path) -> Published:
    night = Night(
        run_date=date(2026, 11, 20),
        store=ArtefactStore(storage_for(str(tmp_path))),
        settings=Settings(),
        started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_id="test",
    )
    return Published(night)


def test_a_night_that_looked_at_no_skipping_index_tells_nothing_of_them(published: Published) -> None:
    assert skipping_report(published.night, "sales") is None
    published.advise()
    assert skipping_report(published.night, "other") is None
    assert skipping_report(replace(published.night, run_date=date(2026, 11, 19)), "sales") is None


def test_chosen_indexes_are_told_by_rank_with_what_became_of_them(published: Published) -> None:
    published.advise()
    builds = [
        {"index": "minmax:day", "outcome": "refreshed", "detail": "3 files", "files": 41, "files_known": 41},
        {
            "index": "bloom:user:0.05",
            "outcome": "created",
            "files": 41,
            "files_known": 38,
            "size_bytes": 71_000,
        },
        {"index": "valuelist:day", "outcome": "deleted", "detail": "minmax:day does it"},
        {"index": "nulls:id", "outcome": "by_hand", "files": 41, "files_known": 41, "size_bytes": 500},
    ]
    published.add("skipping_builds", builds, BUILT)
    report = published.report
    by_day, by_user, own = report.chosen
    assert (by_day.specification, by_day.kind, by_day.columns) == ("minmax:day", "minmax", ("day",))
    assert (by_day.outcome, by_day.detail, by_day.is_behind) == ("refreshed", "3 files", False)
    assert (by_day.individual_saving_ratio, by_day.progressive_saving_ratio) == (0.5, 0.5)
    assert (by_user.kind, by_user.columns, by_user.is_behind) == ("bloom", ("user",), True)
    assert (by_user.measured_bytes, by_user.size_bytes) == (70_000, 71_000)
    # A type of a user's own is not known where the report is written.
    assert (own.kind, own.columns) == ("length_range", ("name,title:9",))
    assert (own.outcome, own.measured_bytes, own.files, own.is_behind) == ("not_built", None, None, False)
    assert report.others == (
        OtherSkippingIndex("valuelist:day", "deleted", "minmax:day does it"),
        OtherSkippingIndex("nulls:id", "by_hand", None, 500, 41, 41),
    )
    assert report.refused == (RefusedSkippingIndex("nulls:day", "no_query", "none asks"),)
    assert (report.location, report.metadata_bytes, report.files_read) == ("/lake/_metadata/sales", 75_000, 3)


def test_the_choice_and_its_indicators_are_told(published: Published) -> None:
    published.advise()
    published.shape(*SHAPES)
    report = published.report
    assert (report.table_files, report.table_rows, report.table_bytes) == (40, 1_000, 900_000)
    assert (report.queries, report.total_bytes, report.saving_ratio) == (25.5, 17_000.0, 0.6875)
    assert isinstance(report.total_bytes, float)
    assert report.choice == ADVISED["sentence"]
    assert (report.layout, report.relayout) == (ADVISED["layout"], ("user",))
    assert report.means == SkippingFactors(0.01, 0.5, 0.8, 0.025)
    assert report.evaluated == EvaluatedQueries(12, 2, 0, 1)
    assert (report.budget_bytes, report.measured_bytes, report.sampled_files) == (None, 74_096, 40)
    assert [(each.shape_id, each.verdict) for each in report.shapes] == [
        ("s1", "defined"),
        ("s2", "no_matching_rows"),
        ("s3", "not_evaluated"),
    ]
    assert [each.factors for each in report.shapes] == [report.means, None, None]
    assert sum(each.bytes_ratio for each in report.shapes) == pytest.approx(1.0)
    assert report.shapes[0].bytes_ratio == pytest.approx(6_000 / 17_000)


def test_where_no_query_is_defined_there_are_no_means(published: Published) -> None:
    published.advise(means=None, counts={"no_matching_rows": 3}, layout=None, relayout=[], sentence="")
    report = published.report
    assert (report.means, report.layout, report.relayout, report.choice) == (None, None, (), None)
    assert report.evaluated == EvaluatedQueries(no_matching_rows=3)


def test_a_table_without_a_choice_tells_why(published: Published) -> None:
    published.add("skipping_advice", [], {"note": "no Spark query reads it"})
    assert published.report == SkippingIndexes(note="no Spark query reads it")
    # What is built repeats it.
    published.add("skipping_builds", [], {"note": "no Spark query reads it"})
    assert published.report == SkippingIndexes(note="no Spark query reads it")


def test_what_was_built_is_told_though_the_advice_is_gone(published: Published) -> None:
    build = {"index": "minmax:day", "outcome": "unchanged", "files": 41, "files_known": 41}
    published.add("skipping_builds", [build], BUILT | {"note": "the metadata is being written elsewhere"})
    report = published.report
    assert report.chosen == ()
    assert report.others == (OtherSkippingIndex("minmax:day", "unchanged", None, None, 41, 41),)
    assert (report.table_files, report.table_rows) == (41, 1_024)
    assert report.build_note == "the metadata is being written elsewhere"


def verdict(
    shape_id: str, instance: int, verdict: str, read: tuple[int, int] | None = None
) -> dict[str, Any]:
    files = dict(zip(("plain_files_read", "skipping_files_read"), read or (None, None), strict=True))
    sizes = {name.replace("files", "bytes"): n and n * 100 for name, n in files.items()}
    times = {"plain_ms": 80.0, "skipping_ms": 8.0} if read else {}
    detail = None if verdict == "equal" else f"{verdict} {instance}"
    given = {"shape_id": shape_id, "instance": instance, "verdict": verdict, "detail": detail}
    return {**given, **files, **sizes, **times}


def test_queries_of_a_shape_are_told_together_and_the_worst_is_their_verdict(published: Published) -> None:
    published.advise()
    published.shape(*SHAPES)
    rows = [
        verdict("s3", 1, "not_comparable"),
        verdict("s1", 1, "equal", (40, 2)),
        verdict("s1", 2, "equal", (40, 3)),
        verdict("s2", 1, "equal", (40, 0)),
        verdict("s2", 2, "different", (40, 1)),
        verdict("s2", 3, "not_comparable"),
        verdict("gone", 1, "failed"),
    ]
    published.add("skipping_verdicts", rows)
    told = [(each.shape_id, each.verdict, each.detail, each.instances) for each in published.report.replayed]
    # Faults first, then as the shapes stand, and what could not be asked again last.
    assert told == [
        ("gone", "failed", "failed 1", 1),
        ("s2", "different", "different 2", 3),
        ("s1", "equal", None, 2),
        ("s3", "not_comparable", "not_comparable 1", 1),
    ]
    gone, by_user, by_day, uncompared = published.report.replayed
    assert (gone.condition, by_day.condition) == ("", "day >= ? AND day < ?")
    assert (by_day.plain_files_read, by_day.skipping_files_read) == (40.0, 2.5)
    assert (by_day.plain_bytes_read, by_day.skipping_bytes_read) == (4_000.0, 250.0)
    assert (by_day.plain_ms, by_day.skipping_ms) == (80.0, 8.0)
    assert (by_user.plain_files_read, by_user.skipping_files_read) == (40.0, 0.5)
    assert not by_user.is_equal and by_day.is_equal
    assert (uncompared.plain_bytes_read, uncompared.skipping_ms) == (None, None)


def test_queries_of_which_files_are_left_out_stand_before_those_that_read_the_same(
    published: Published,
) -> None:
    published.advise()
    published.shape(*SHAPES)
    rows = [verdict("s3", 1, "equal", (40, 40)), verdict("s2", 1, "equal", (40, 39))]
    published.add("skipping_verdicts", rows)
    told = [(each.shape_id, each.leaves_out) for each in published.report.replayed]
    assert told == [("s2", True), ("s3", False)]


def test_what_a_secondary_index_serves_stands_in_its_section_unless_it_is_a_fault(
    published: Published,
) -> None:
    published.advise()
    published.shape(*SHAPES)
    rows = [
        verdict("s1", 1, "equal", (40, 2)),
        verdict("s2", 1, "equal", (40, 3)),
        verdict("s3", 1, "different", (40, 1)),
    ]
    published.add("skipping_verdicts", rows)
    published.add("secondary_verdicts", [verdict(each, 1, "equal", (40, 1)) for each in ("s2", "s3")])
    assert [each.shape_id for each in published.report.replayed] == ["s3", "s1"]
    assert published.report.by_secondary == 1


def test_a_verdict_of_another_version_does_not_hide_behind_good_ones(published: Published) -> None:
    published.advise()
    published.add("skipping_verdicts", [verdict("s1", 1, "equal", (2, 1)), verdict("s1", 2, "doubtful")])
    (shape,) = published.report.replayed
    assert (shape.verdict, shape.is_equal) == ("doubtful", False)


def test_more_than_a_report_holds_is_counted(published: Published) -> None:
    published.advise()
    published.shape(
        *((f"s{i:04}", f"c{i} = ?", 1.0, i, "defined", 0.1, 0.5, 0.5, 0.4, 0.6) for i in range(150))
    )
    published.add("skipping_verdicts", [verdict(f"s{i:04}", 1, "equal", (9, 3)) for i in range(130)])
    refused = [
        {"verdict": "refused", "index": f"minmax:c{i}", "reason": "no_query", "detail": "none"}
        for i in range(1_234)
    ]
    report = published.report
    assert (len(report.shapes), report.other_shapes) == (100, 50)
    assert report.shapes[0].shape_id == "s0149"
    assert (len(report.replayed), report.other_replayed) == (100, 30)
    assert report.replayed[0].shape_id == "s0129"
    published.add("skipping_advice", refused, ADVISED)
    assert (len(published.report.refused), published.report.other_refused) == (1_000, 234)


NOT_ASKED = [
    verdict("s1", 1, "equal", (40, 2)),
    verdict("s1", 2, "not_proved"),
    verdict("s3", 1, "not_proved"),
]
TOLD = (
    "1 of 3 queries were asked both ways: of 1 of 2 query shapes, with 40 % of the work of all of these. "
    "The others were not proved: not_proved 2."
)


def test_queries_that_were_not_asked_count_for_no_proof(published: Published) -> None:
    published.advise()
    published.shape(*SHAPES)
    published.add("skipping_verdicts", NOT_ASKED)
    # A secondary index that has not answered either hides nothing.
    published.add("secondary_verdicts", [verdict("s1", 1, "not_proved")])
    (shape,) = published.report.replayed
    assert (shape.shape_id, shape.instances, shape.verdict) == ("s1", 1, "equal")
    assert published.report.not_proved == TOLD
    assert f"  {TOLD}" in SKIPPING.summary(published.report)


def test_queries_that_no_secondary_index_has_answered_are_told(published: Published) -> None:
    published.shape(*SHAPES)
    published.add("secondary_advice", [], {"note": "none is chosen"})
    published.add("secondary_builds", [{"index": "btree:day", "outcome": "by_hand"}], {})
    published.add("secondary_verdicts", NOT_ASKED)
    section = SECONDARY.collect(SectionSource(published.night, "sales", Part(()), ()))
    assert [each["shape_id"] for each in section["replayed"]] == ["s1"]
    assert section["not_proved"] == TOLD
    assert f"  {TOLD}" in SECONDARY.summary(section)
