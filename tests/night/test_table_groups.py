"""Groups of a night's tables, the engine of their stages, and tables that an earlier run of the night had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as cases
from hypothesis import strategies as st
from settings_with import settings_with
from starskip.advisor.cost.kept_windows import WINDOWS
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts, stopping_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import GROUPED, SHARED
from starskip.lake.lake_table import LakeTable
from starskip.night.collect_segment_metadata import LISTED
from starskip.night.table_groups import forget_gone_tables, stage_engine, table_groups
from starskip.settings import Settings
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import DataFile, Part
from starskip.storage.storage_for import storage_for


class NoFiles(ArtefactStore):
    """A store that takes parts whose files are not there: only their numbers of rows are looked at."""

    def publish(self, artefact: str, run_date: str, parts: Any, **how: Any) -> Any:
        how.pop("replace")
        commit = {"commit_id": "test", "created_at": how["created_at"], "created_by": "test"}
        return self.chain(artefact, run_date).commit(lambda before: {**before, **parts}, **commit)


def night_of(root: Path, queries: Mapping[str, int], **values: Any) -> Night:
    store = NoFiles(storage_for(str(root)))
    night = Night(
        date(2026, 11, 20),
        store,
        settings_with(Settings(), **values),
        datetime(2026, 11, 21, tzinfo=UTC),
        "test",
    )
    parts = {table: Part((DataFile(f"{table}.parquet", 1, rows),)) for table, rows in queries.items()}
    night.publish("queries", parts)
    return night


QUERIES = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(0, 400_000), max_size=60)


@cases(max_examples=60, deadline=None)
@example(queries={"a": 1, "b": 300_000}, most=1, in_lake=set())
@given(queries=QUERIES, most=st.integers(1, 32), in_lake=st.sets(st.integers(0, 59)))
def test_each_table_is_in_one_group_and_groups_are_few_and_alike(
    tmp_path_factory, queries, most, in_lake
) -> None:
    night = night_of(tmp_path_factory.mktemp("store"), queries, table_groups=most)
    lake = {table: LakeTable(f"/lake/{table}") for at, table in enumerate(sorted(queries)) if at in in_lake}
    night = replace(night, lake_tables=lake)
    groups = table_groups(night)
    assert sorted(table for group in groups for table in group) == sorted(queries)
    assert all(groups)
    kinds = {(table in lake, rows > 200_000) for table, rows in queries.items()}
    assert len(groups) <= most
    kinds_of_groups = [{(table in lake, queries[table] > 200_000) for table in group} for group in groups]
    assert len(kinds) > most or all(len(of_group) == 1 for of_group in kinds_of_groups)


def test_two_hundred_tables_make_as_many_groups_as_the_setting_says(tmp_path: Path) -> None:
    groups = table_groups(night_of(tmp_path, {f"t{number}": 1_000 for number in range(200)}))
    assert sorted(map(len, groups)) == [12] * 8 + [13] * 8


def test_a_few_tables_make_one_group(tmp_path: Path) -> None:
    assert table_groups(night_of(tmp_path, {"b": 3, "a": 4})) == [["a", "b"]]


def test_a_night_without_tables_has_no_group(tmp_path: Path) -> None:
    assert table_groups(night_of(tmp_path, {})) == []


@pytest.mark.parametrize(
    ("rows", "limit", "is_on_the_lake", "on_spark"),
    [
        (1_000, 200_000, False, set()),
        (1_000, 200_000, True, set(GROUPED[GROUPED.index("select_indexes") : -1])),
        (200_001, 200_000, False, set(GROUPED)),
        (1, 0, False, set(GROUPED)),
    ],
)
def test_stages_of_a_small_group_need_no_spark_but_for_the_files_of_the_lake(
    rows: int, limit: int, is_on_the_lake: bool, on_spark: set[str], tmp_path: Path
) -> None:
    night = night_of(tmp_path, {"t": rows, "other": 10**9}, local_queries=limit)
    lake = {"t": LakeTable("/lake/t")} if is_on_the_lake else {}
    night = replace(night, tables=frozenset({"t"}), lake_tables=lake)
    assert {stage for stage in GROUPED if stage_engine(night, stage) == "spark"} == on_spark


@pytest.mark.parametrize(("local_bytes", "engine"), [(10**9, "local"), (10, "spark"), (0, "spark")])
def test_segments_and_logs_are_read_without_spark_if_they_are_small(
    local_bytes: int, engine: str, tmp_path: Path
) -> None:
    (tmp_path / "segments" / "t").mkdir(parents=True)
    (tmp_path / "segments" / "t" / "t_0.tar.gz").write_bytes(bytes(100))
    (tmp_path / "broker.log").write_bytes(bytes(100))
    night = night_of(tmp_path / "store", {"t": 1}, local_bytes=local_bytes)
    night = replace(night, segments_root=str(tmp_path / "segments"), log_paths=[str(tmp_path / "broker.log")])
    assert [stage_engine(night, stage) for stage in SHARED] == [engine, engine]


@pytest.mark.parametrize(("local_bytes", "engine"), [(700, "local"), (500, "spark")])
def test_samples_are_decoded_without_spark_if_they_are_small(
    local_bytes: int, engine: str, tmp_path: Path
) -> None:
    night = night_of(tmp_path, {"t": 1}, local_bytes=local_bytes, max_sampled_segments=3)
    night.publish("table_facts", {"t": Part((), {LISTED: [10, 2_000]}), "lake": Part(())})
    assert stage_engine(night, "score_votes") == engine
    assert stage_engine(night, "select_indexes") == "local"
    # What earlier nights have decoded is not decoded again.
    held = {"replace": "tables", "created_at": night.started_at, "created_by": "test"}
    night.store.publish(WINDOWS, CURRENT, {"t": Part(())}, **held)
    assert stage_engine(night, "score_votes") == "local"


def test_sources_that_are_missing_are_left_to_the_stage_to_tell(tmp_path: Path) -> None:
    night = replace(
        night_of(tmp_path / "store", {"t": 1}),
        segments_root=str(tmp_path / "none"),
        log_paths=[str(tmp_path / "none.log")],
    )
    assert [stage_engine(night, stage) for stage in SHARED] == ["local", "local"]


def test_a_table_that_is_gone_is_forgotten_and_of_a_stopped_one_the_report_stays(tmp_path: Path) -> None:
    store = ArtefactStore(storage_for(str(tmp_path)))
    night = Night(date(2026, 11, 20), store, Settings(), datetime(2026, 11, 21, tzinfo=UTC), "test")
    tables = {"left": Part(()), "gone": Part(()), "stopped": Part(())}
    night.publish("reports", tables)
    night.publish("votes", tables)
    night.publish("table_facts", {"left": Part(()), "stopped": Part(())})
    check = GateCheck("score_votes", "votes", False, "3", "0")
    publish_verdicts(night, "score_votes", [GateVerdict("gone", "score_votes", (check,))])
    check = replace(check, stage="collect_segment_metadata")
    stopped = GateVerdict("stopped", "collect_segment_metadata", (check,))
    publish_verdicts(night, "collect_segment_metadata", [stopped])
    assert set(stopping_verdicts(night)) == {"gone", "stopped"}
    forget_gone_tables(replace(night, tables=frozenset({"left"})), [["left"]])
    assert store.snapshot("reports", night.date_text).tables == ("gone", "left", "stopped")
    forget_gone_tables(night, [["left"]])
    assert store.snapshot("reports", night.date_text).tables == ("left", "stopped")
    assert store.snapshot("votes", night.date_text).tables == ("left",)
    assert store.snapshot("gate_score_votes", night.date_text).tables == ()
    assert set(stopping_verdicts(night)) == {"stopped"}
