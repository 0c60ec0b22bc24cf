"""The indexes that a night wants of a table: made, kept, taken away, refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from night_tables import FILES, ID, below, call, indexes, literal
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.advisor.families.skipping.choice.workload_gap_list import WorkloadGapList
from starskip.errors import ConfigError, SourceError, StarskipError
from starskip.file_metadata.open_metadata import open_metadata
from starskip.lake.lake_table import LakeTable
from starskip.spark.skipping import spark_skipping_engine
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def active(location: str) -> tuple[str, ...]:
    metadata = open_metadata(location)
    assert metadata is not None
    return metadata.state.active


def test_exactly_the_wanted_indexes_are_active(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    location = engine.location(table, root)
    made = engine.refresh(table, indexes("minmax:ID", "valuelist:s"), root)
    assert (made.location, made.version, made.files, made.collected_files) == (location, 1, FILES, FILES)
    assert made.indexes == active(location) == ("minmax:id", "valuelist:s")
    again = engine.refresh(table, indexes("minmax:id", "valuelist:s"), root)
    assert (again.version, again.collected_files, again.unchanged_files) == (1, 0, FILES)
    other = engine.refresh(table, indexes("nulls:n.`B C`", "minmax:id"), root)
    assert other.indexes == active(location) == ("minmax:id", "nulls:n.`B c`")
    # One commit takes away, the other one adds.
    assert other.version == 3
    back = engine.refresh(table, indexes("valuelist:s"), root)
    assert (back.indexes, back.version, active(location)) == (("valuelist:s",), 5, ("valuelist:s",))
    nothing = engine.refresh(table, [], root)
    assert (nothing.version, nothing.files, nothing.collected_files, active(location)) == (6, FILES, 0, ())
    assert engine.refresh(table, [], root).version == 6


def test_where_nothing_is_wanted_nothing_is_made(engine: SparkSkipping, table: LakeTable) -> None:
    before = sorted(Path(table.path).parent.rglob("*"))
    made = engine.refresh(table, [], None)
    assert (made.version, made.files, made.indexes) == (0, FILES, ())
    assert sorted(Path(table.path).parent.rglob("*")) == before
    assert engine.location(table, None) == made.location == f"{table.path}/_starskip"


def test_new_files_are_collected_by_the_indexes_given(
    spark: SparkSession, engine: SparkSkipping, table_of: Callable[..., str]
) -> None:
    values = spark.createDataFrame([(0,), (10,), (11,), (30,)], "id BIGINT").coalesce(1)
    table = LakeTable(table_of(values, name="gaps"))
    asked = call("And", call("GreaterThan", ID, literal(2, pa.int64())), below(5))
    wanted = WorkloadGapList(["id"], ["1"], predicates=[asked], weights=[1.0])
    for name in ("first", "second"):
        engine.refresh(table, [wanted], None)
        metadata = open_metadata(engine.location(table, None))
        assert metadata is not None
        for ranges in metadata.column("gaplist:id:1", "ranges").to_pylist():
            assert ranges == [{"least": 0, "greatest": 0}, {"least": 10, "greatest": 30}]
        (file, *_) = Path(table.path).glob("*.parquet")
        shutil.copy(file, Path(table.path) / f"{name}.parquet")
        aged(Path(table.path))
    assert metadata is not None and metadata.files == 2


def test_a_refresh_that_ends_between_its_commits_is_completed_by_the_next(
    engine: SparkSkipping, table: LakeTable, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.refresh(table, indexes("minmax:id", "valuelist:s"), root)
    location = engine.location(table, root)

    def dies(*_arguments: object, **_named: object) -> None:
        raise StarskipError("the store is gone")

    with monkeypatch.context() as broken:
        broken.setattr(spark_skipping_engine, "refresh_relation", dies)
        with pytest.raises(StarskipError, match="gone"):
            engine.refresh(table, indexes("minmax:id", "nulls:s"), root)
    assert active(location) == ("minmax:id",)
    engine.refresh(table, indexes("minmax:id", "nulls:s"), root)
    assert active(location) == ("minmax:id", "nulls:s")


def test_why_an_index_cannot_be(engine: SparkSkipping, table: LakeTable) -> None:
    missing, odd, nested = indexes("minmax:gone", "minmax:m", "minmax:N.`b C`")
    found = engine.faults(table, [missing, odd, nested])
    assert found.keys() == {"minmax:gone", "minmax:m"}
    assert "no column gone" in found["minmax:gone"]
    assert "map" in found["minmax:m"]
    assert engine.faults(table, []) == {}
    with pytest.raises(ConfigError, match="gone"):
        engine.refresh(table, [missing], None)
    assert not Path(table.path, "_starskip").exists()


def test_a_table_of_one_file_has_no_indexes(engine: SparkSkipping, table: LakeTable) -> None:
    file = sorted(Path(table.path).glob("*.parquet"))[0]
    one = LakeTable(str(file))
    (index,) = indexes("minmax:id")
    assert "single file" in engine.faults(one, [index])["minmax:id"]
    with pytest.raises(ConfigError, match="single file"):
        engine.refresh(one, [index], None)
    assert engine.refresh(one, [], None).files == 1
    assert engine.matching_rows(one, [below(3)], None).matching.tolist() == [[3]]


def test_a_table_that_cannot_be_read(engine: SparkSkipping, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone"):
        engine.refresh(LakeTable(str(tmp_path / "gone")), [], None)
    (tmp_path / "t").mkdir()
    pa.parquet.write_table(pa.table({"id": pa.array(range(9_000))}), tmp_path / "t" / "b.parquet")
    content = (tmp_path / "t" / "b.parquet").read_bytes()
    (tmp_path / "t" / "a.parquet").write_bytes(b"\0" * 400 + content[400:])
    table = LakeTable(str(tmp_path / "t"))
    with pytest.raises(SourceError, match=r"a\.parquet"):
        engine.matching_rows(table, [below(3), below(4)], None)
    with engine.replaying(table, None) as replay, pytest.raises(SourceError, match=r"a\.parquet"):
        replay(below(3))
