"""Matching rows of each file, by many predicates at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from night_tables import DAY, FILES, ID, ROWS, S, below, call, indexes, literal
from pyspark.sql import SparkSession
from starskip.errors import CapExceeded
from starskip.file_metadata.open_metadata import open_metadata
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Column, Expression, LiteralSet
from starskip.spark.skipping import count_matching
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


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
    right = count_matching.FileCounter._pass

    def noted(self: Any, mine: Any, *rest: Any) -> None:
        passes.append(len(mine))
        right(self, mine, *rest)

    monkeypatch.setattr(count_matching.FileCounter, "_pass", noted)
    found = engine.matching_rows(table, [below(at) for at in range(120)], None)
    assert found.matching.sum(axis=1).tolist() == list(range(120))
    assert sorted(passes) == [20, 50, 50]
    monkeypatch.setattr(count_matching, "MOST_CELLS", 3 * FILES - 1)
    with pytest.raises(CapExceeded, match="3 predicates over 6 files"):
        engine.matching_rows(table, [below(at) for at in range(3)], None)
