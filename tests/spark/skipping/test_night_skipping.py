"""What the night asks of Spark about tables of the lake, on real tables of Parquet and CSV."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.errors import CapExceeded, ConfigError, SourceError, StarskipError, UnsupportedQuery
from starskip.lake.lake_table import LakeTable
from starskip.skipping.choice.workload_gap_list import WorkloadGapList
from starskip.skipping.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.skipping.metadata.open_metadata import open_metadata
from starskip.skipping.registry import index_from_specification
from starskip.spark import skipping
from starskip.spark.skipping import count_matching, night_skipping
from starskip.spark.skipping.night_skipping import SparkSkipping
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.session import last_query_stats
from starskip.spark.spark_engine import SparkEngine

pytestmark = pytest.mark.spark

ROWS = 600
FILES = 6
ID, S, DAY = Column(("id",), "bigint"), Column(("s",), "string"), Column(("day",), "date")
Table = Callable[..., LakeTable]


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[SparkSkipping]:
    assert SparkSession.getActiveSession() is spark
    yield SparkEngine(spark).skipping
    assert not skipping.is_enabled(spark)
    assert SparkSession.getActiveSession() is spark


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, LakeTable]:
    """One table of six files, as Parquet and as CSV; its metadata lies below a root of each test's own."""
    rows = spark.range(ROWS).selectExpr(
        "id",
        "IF(id % 10 = 0, NULL, concat('v', id div 7)) AS s",
        "date_add(DATE'2024-01-01', int(id)) AS day",
        "CAST(id / 100 AS DECIMAL(10,2)) AS price",
        "named_struct('B c', id % 3, 'ok', id > 300) AS n",
        "map('k', id) AS m",
        "IF(id = 5, double('NaN'), double(id)) AS d",
    )
    frame = rows.repartitionByRange(FILES, "id").sortWithinPartitions("id")
    folder = tmp_path_factory.mktemp("tables")
    frame.write.parquet(str(folder / "t é%20"))
    frame.select("id", "s", "day", "price", "d").write.csv(str(folder / "lines"), header=True)
    aged(folder)
    return {
        "parquet": LakeTable(str(folder / "t é%20")),
        "csv": LakeTable(str(folder / "lines"), {}, "csv", {"header": "true", "inferSchema": "true"}),
    }


@pytest.fixture
def table(tables: dict[str, LakeTable]) -> LakeTable:
    return tables["parquet"]


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "root")


def literal(value: Any, kind: pa.DataType) -> Literal:
    return Literal(pa.scalar(value, kind))


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


def below(limit: int) -> Call:
    return call("LessThan", ID, literal(limit, pa.int64()))


def indexes(*specifications: str) -> list[Any]:
    return [index_from_specification(each) for each in specifications]


def active(location: str) -> tuple[str, ...]:
    metadata = open_metadata(location)
    assert metadata is not None
    return metadata.state.active


# -- refresh


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
        broken.setattr(night_skipping, "refresh_relation", dies)
        with pytest.raises(StarskipError, match="gone"):
            engine.refresh(table, indexes("minmax:id", "nulls:s"), root)
    assert active(location) == ("minmax:id",)
    engine.refresh(table, indexes("minmax:id", "nulls:s"), root)
    assert active(location) == ("minmax:id", "nulls:s")


def test_why_an_index_cannot_be(engine: SparkSkipping, table: LakeTable) -> None:
    missing, odd, nested = indexes("minmax:gone", "minmax:m", "minmax:N.`b C`")
    assert "no column gone" in (engine.fault(table, missing) or "")
    assert "map" in (engine.fault(table, odd) or "")
    assert engine.fault(table, nested) is None
    with pytest.raises(ConfigError, match="gone"):
        engine.refresh(table, [missing], None)
    assert not Path(table.path, "_starskip").exists()


def test_a_table_of_one_file_has_no_indexes(engine: SparkSkipping, table: LakeTable) -> None:
    file = sorted(Path(table.path).glob("*.parquet"))[0]
    one = LakeTable(str(file))
    (index,) = indexes("minmax:id")
    assert "one file" in (engine.fault(one, index) or "")
    with pytest.raises(ConfigError, match="one file"):
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
    with pytest.raises(SourceError, match=r"a\.parquet"):
        engine.replay(table, below(3), None)


# -- counting


def predicates() -> dict[str, tuple[Expression, Callable[[int], bool]]]:
    """Return predicates with what they say of the row with an id."""
    day = literal(dt.date(2024, 3, 1), pa.date32())
    listed = LiteralSet(pa.array(["v1", "v80"]), has_null=True)
    return {
        "below": (below(250), lambda at: at < 250),
        "date": (call("GreaterThanOrEqual", DAY, day), lambda at: at >= 60),
        "in": (call("In", S, listed), lambda at: at % 10 != 0 and at // 7 in (1, 80)),
        "null": (call("IsNull", S), lambda at: at % 10 == 0),
        "like": (
            call("Like", S, literal("%1", pa.string()), literal("\\", pa.string())),
            lambda at: at % 10 != 0 and str(at // 7).endswith("1"),
        ),
        "decimal": (
            call(
                "EqualTo", Column(("price",), "decimal(10,2)"), literal(Decimal("1.25"), pa.decimal128(10, 2))
            ),
            lambda at: at == 125,
        ),
        "nan": (
            call("EqualTo", Column(("d",), "double"), literal(float("nan"), pa.float64())),
            lambda at: at == 5,
        ),
        "or": (call("Or", below(10), call("Not", below(590))), lambda at: at < 10 or at >= 590),
    }


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_matching_rows_of_each_file(engine: SparkSkipping, tables: dict[str, LakeTable], kind: str) -> None:
    asked, chosen = predicates(), tables[kind]
    found = engine.matching_rows(chosen, [predicate for predicate, _ in asked.values()], None)
    assert not found.faults
    assert found.rows.sum() == ROWS
    assert len(found.paths) == FILES
    assert all(path.startswith(f"file:{chosen.path}/part-") for path in found.paths.to_pylist())
    order = np.argsort(found.paths.to_pylist())
    rows_of_files = found.rows[order]
    ends = np.cumsum(rows_of_files)
    for number, (_, holds) in enumerate(asked.values()):
        matching = np.array([holds(at) for at in range(ROWS)])
        of_files = [
            int(matching[end - rows : end].sum()) for rows, end in zip(rows_of_files, ends, strict=True)
        ]
        assert found.matching[number, order].tolist() == of_files


def test_matching_rows_of_some_files(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    metadata = open_metadata(engine.location(table, root))
    assert metadata is not None
    everything = engine.matching_rows(table, [below(150)], metadata.paths)
    assert everything.paths.equals(metadata.paths)
    some = pa.array([metadata.paths[3].as_py(), "file:/gone.parquet", metadata.paths[0].as_py()])
    found = engine.matching_rows(table, [below(150)], some)
    assert found.paths.to_pylist() == [some[0].as_py(), some[2].as_py()]
    assert found.matching[0].tolist() == everything.matching[0, [3, 0]].tolist()
    assert found.rows.tolist() == everything.rows[[3, 0]].tolist()


def test_a_predicate_that_fails_takes_no_other_one_with_it(
    spark: SparkSession, engine: SparkSkipping, table: LakeTable, capfd: pytest.CaptureFixture[str]
) -> None:
    spark.udf.register("carrier", lambda text: None if text is None else text[:2], "string")
    as_number = call("udf:int", S)
    asked: list[Expression] = [
        below(100),
        call("EqualTo", call("udf:nobody_knows", S), literal("x", pa.string())),
        call("EqualTo", Column(("gone",), "bigint"), literal(1, pa.int64())),
        call("EqualTo", as_number, literal(1, pa.int32())),
        call("EqualTo", call("Divide", ID, literal(0, pa.int64())), literal(1.0, pa.float64())),
        ID,
        call("Cast", ID),
        call("EqualTo", call("udf:reflect", literal("java.lang.System", pa.string())), S),
        call("EqualTo", call("udf:carrier", S), literal("v4", pa.string())),
        call("udf:sum", ID),
        call("IsNull", S),
    ]
    found = engine.matching_rows(table, asked, None)
    assert sorted(found.faults) == [1, 2, 3, 4, 5, 6, 7, 9]
    for at, words in ((1, "nobody_knows"), (2, "gone"), (3, "CAST_INVALID_INPUT"), (4, "DIVIDE_BY_ZERO")):
        assert words in found.faults[at]
        assert "\n" not in found.faults[at]
    counts = found.matching.sum(axis=1).tolist()
    carried = sum(f"v{at // 7}"[:2] == "v4" for at in range(ROWS) if at % 10)
    assert counts == [100, 0, 0, 0, 0, 0, 0, 0, carried, 0, ROWS // 10]
    assert engine.matching_rows(table, asked[5:8], None).rows.sum() == ROWS
    assert "nobody_knows" not in capfd.readouterr().err


def test_many_predicates_need_few_passes(
    engine: SparkSkipping, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    right = count_matching._Counter._pass

    def noted(self: Any, mine: Any, *rest: Any) -> None:
        passes.append(len(mine))
        right(self, mine, *rest)

    monkeypatch.setattr(count_matching._Counter, "_pass", noted)
    found = engine.matching_rows(table, [below(at) for at in range(120)], None)
    assert found.matching.sum(axis=1).tolist() == list(range(120))
    assert sorted(passes) == [20, 50, 50]
    monkeypatch.setattr(count_matching, "MOST_CELLS", 3 * FILES - 1)
    with pytest.raises(CapExceeded, match="3 predicates over 6 files"):
        engine.matching_rows(table, [below(at) for at in range(3)], None)


# -- columns


def test_facts_of_columns(engine: SparkSkipping, table: LakeTable) -> None:
    facts = engine.column_facts(table, ["ID", "s", "n.`B c`", "gone", "m", "day", "price"], FILES)
    assert list(facts) == ["ID", "s", "n.`B c`", "m", "day", "price"]
    assert facts["ID"].distinct_values == pytest.approx(100, rel=0.15)
    assert facts["n.`B c`"].distinct_values == 3
    assert (facts["ID"].value_bytes, facts["ID"].has_nulls) == (8.0, False)
    assert facts["day"].value_bytes == 4.0
    lengths = [len(f"v{at // 7}") for at in range(ROWS) if at % 10]
    assert facts["s"].value_bytes == pytest.approx(sum(lengths) / len(lengths))
    assert facts["s"].has_nulls is True
    assert (facts["m"].distinct_values, facts["m"].has_nulls) == (None, False)
    assert engine.column_facts(table, ["gone"], 3) == {}


def test_facts_are_of_few_files(engine: SparkSkipping, table: LakeTable, tmp_path: Path) -> None:
    copy = LakeTable(shutil.copytree(table.path, str(tmp_path / "t")))
    files = sorted(Path(copy.path).glob("*.parquet"))
    for file in files[1:-1]:
        file.write_bytes(b"is not read")
    # Of two files the first and the last are taken, so the others need not be sound.
    assert engine.column_facts(copy, ["id"], 2)["id"].has_nulls is False


@pytest.mark.parametrize("rows", [60, 10_000])
def test_a_sample_of_values(engine: SparkSkipping, table: LakeTable, rows: int) -> None:
    found = engine.sample_values(table, ["id", "S", "gone", "n.ok", "day"], rows)
    assert list(found) == ["id", "S", "n.ok", "day"]
    ids = found["id"].to_pylist()
    assert ROWS >= len(ids) >= min(rows, ROWS) * 0.5
    assert len(ids) <= max(rows * 1.6, 1) or len(ids) == ROWS
    assert {at // 100 for at in ids} == set(range(6))
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=at) for at in ids]
    assert found["day"].to_pylist() == days
    assert found["n.ok"].to_pylist() == [at > 300 for at in ids]


# -- replay


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_query_with_skipping_and_without(
    engine: SparkSkipping, tables: dict[str, LakeTable], root: str, kind: str
) -> None:
    chosen, asked = tables[kind], below(150)
    engine.refresh(chosen, indexes("minmax:id"), root)
    found = engine.replay(chosen, asked, root)
    assert found.files_total == found.plain.files == FILES
    assert found.skipping.files == 2
    assert (found.plain.rows, found.plain.digest) == (found.skipping.rows, found.skipping.digest)
    assert found.plain.rows == 150
    assert found.plain.size_bytes > found.skipping.size_bytes > 0
    assert found.not_skipped_because == ()
    as_many = engine.replay(chosen, call("And", below(300), call("Not", asked)), root).plain
    assert (as_many.rows, as_many.digest != found.plain.digest) == (150, True)


def test_a_query_of_no_row_reads_nothing(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    found = engine.replay(table, below(-3), root)
    assert (found.skipping.files, found.skipping.rows, found.plain.rows) == (0, 0, 0)
    assert found.plain.digest == found.skipping.digest


def test_metadata_that_skips_too_much_is_seen(
    engine: SparkSkipping, table: LakeTable, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    right = MinMaxClause.may_match

    def wrong(clause: MinMaxClause, metadata: FileMetadata) -> Mask:
        # Not on the files of the self-test: then nothing would be skipped at all.
        found = right(clause, metadata)
        return ~found if metadata.files == FILES else found

    monkeypatch.setattr(MinMaxClause, "may_match", wrong)
    found = engine.replay(table, below(150), root)
    assert (found.plain.rows, found.skipping.rows) == (150, 0)
    assert found.plain.digest != found.skipping.digest


def test_why_nothing_was_skipped_is_told(engine: SparkSkipping, table: LakeTable, root: str) -> None:
    found = engine.replay(table, below(150), root)
    assert found.skipping.files == FILES
    assert any("no metadata" in reason for reason in found.not_skipped_because)


def test_what_was_enabled_before_is_enabled_after(
    spark: SparkSession, engine: SparkSkipping, table: LakeTable, root: str, tmp_path: Path
) -> None:
    engine.refresh(table, indexes("minmax:id"), root)
    skipping.enable(spark, root)
    spark.conf.set(ENABLED, "false")
    try:
        assert engine.replay(table, below(150), str(tmp_path / "other")).skipping.files == FILES
        assert engine.replay(table, below(150), root).skipping.files == 2
        assert skipping.is_enabled(spark)
        assert spark.conf.get(ENABLED) == "false"
        spark.conf.unset(ENABLED)
        spark.read.parquet(table.path).where("id < 150").collect()
        assert last_query_stats(spark)[0]["files_read"] == 2
    finally:
        spark.conf.unset(ENABLED)
        skipping.disable(spark)


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (call("udf:nobody_knows", S), "nobody_knows"),
        (call("EqualTo", call("udf:int", S), literal(1, pa.int32())), "CAST_INVALID_INPUT"),
        (call("Unknown"), "not known"),
        (call("EqualTo", Column(("gone",), "string"), S), "gone"),
        (call("udf:explode", Column(("m",), "map<string,bigint>")), "explode"),
    ],
)
def test_what_cannot_be_asked(
    engine: SparkSkipping, table: LakeTable, predicate: Expression, why: str
) -> None:
    with pytest.raises(UnsupportedQuery, match=why) as told:
        engine.replay(table, predicate, None)
    assert "\n" not in str(told.value)
