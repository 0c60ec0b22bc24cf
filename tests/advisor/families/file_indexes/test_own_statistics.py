"""Files that a table's own statistics leave out hold no row that matches; others are told apart by them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changing_tables import OPERATIONS, ROWS, ChangingDelta, ChangingIceberg
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from pyiceberg.catalog.sql import SqlCatalog
from starskip.advisor.families.file_indexes import own_statistics as module
from starskip.advisor.families.file_indexes.own_statistics import (
    format_with_statistics,
    is_of_own_statistics,
    own_statistics,
)
from starskip.lake.file_columns import stored_names, with_names_of_today
from starskip.lake.lake_table import LakeTable
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.spark_types import spark_type
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.registry import index_from_specification

pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
EXAMPLES = law_cases("STARSKIP_SNAPSHOT_EXAMPLES", 12)
LAW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CHANGES = st.lists(OPERATIONS, max_size=6)
COMPARED = {
    "EqualTo": lambda value, asked: value == asked,
    "LessThan": lambda value, asked: value < asked,
    "GreaterThanOrEqual": lambda value, asked: value >= asked,
}
LITERALS = {
    "int": [0, 7, -(2**31), 2**31 - 1, 5],
    "bigint": [0, 1, 7, -(2**31), 2**31 - 1, 5],
    "double": [0.0, -0.0, 1.5, math.inf, math.nan, 2.25],
    "string": ["", "a", "é" * 20, "z" * 40, "z", "b"],
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    folder = tmp_path_factory.mktemp("iceberg")
    made = SqlCatalog("own", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    made.create_namespace("n")
    yield made
    made.close()


def in_order(value: Any) -> Any:
    """Return what Spark orders values by: NaN is greatest and equals itself, texts count as bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return value


def predicates(schema: pa.Schema) -> Iterator[tuple[Expression, str, Any]]:
    """Yield conditions on each column, with its name and what tells whether a value satisfies it."""
    for column in schema:
        kind = spark_type(column.type)
        asked = Column((column.name,), kind)
        yield Call("IsNull", (asked,)), column.name, lambda value: value is None
        yield Call("IsNotNull", (asked,)), column.name, lambda value: value is not None
        for name, holds in COMPARED.items():
            for given_value in LITERALS[kind]:
                literal = Literal(pa.scalar(given_value, column.type))
                yield (
                    Call(name, (asked, literal)),
                    column.name,
                    lambda value, holds=holds, given_value=given_value: (
                        value is not None and holds(in_order(value), in_order(given_value))
                    ),
                )


def require_kept(path: str) -> tuple[int, int]:
    """Compare what the statistics leave out with the files; return how many files that is, of how many."""
    snapshot = open_lake_table(path)
    paths = snapshot.files["path"].combine_chunks()
    own = own_statistics(
        LakeTable(path), pa.array([f"file:{each}" for each in paths.to_pylist()], pa.string())
    )
    assert own is not None and snapshot.schema is not None and own.files == len(paths)
    content = []
    for each in paths.to_pylist():
        stored = pq.ParquetFile(each)
        there = stored_names(stored.schema_arrow, snapshot.columns, each)
        table = stored.read([name for name in there.values() if name is not None])
        content.append(with_names_of_today(table, stored.schema_arrow, snapshot.columns, each))
    left_out = asked = 0
    for predicate, name, holds in predicates(snapshot.schema):
        read = own.read(predicate)
        for file, is_read in zip(content, read.tolist(), strict=True):
            values = file[name].to_pylist() if name in file.column_names else [None] * file.num_rows
            assert is_read or not any(map(holds, values)), (predicate, values)
            left_out += not is_read
            asked += 1
    return left_out, asked


@pytest.mark.law
@LAW
@given(first=ROWS, changes=CHANGES)
def test_an_iceberg_table(catalog: SqlCatalog, first: Any, changes: list[Any]) -> None:
    table = ChangingIceberg(catalog, f"t{uuid4().hex}")
    for kind, values in [("append", first), *changes]:
        table.change(kind, values)
    require_kept(table.table.metadata_location)
    shutil.rmtree(table.path)


@pytest.mark.law
@LAW
@given(first=ROWS, changes=CHANGES)
def test_a_delta_table(tmp_path: Path, first: Any, changes: list[Any]) -> None:
    table = ChangingDelta(tmp_path / uuid4().hex)
    for kind, values in [("append", first), *changes]:
        table.change(kind, values)
    require_kept(table.path)
    shutil.rmtree(table.path)


def split(path: Path) -> str:
    for part, values in (("a/b", [1, 2]), (None, [30, None]), ("é", [None, None])):
        rows = pa.table({"p": pa.array([part, part]), "v": pa.array(values, pa.int64())})
        write_deltalake(str(path), rows, partition_by=["p"], mode="append")
    return str(path)


def test_files_are_told_apart_by_partitions_bounds_and_nulls(tmp_path: Path) -> None:
    path = split(tmp_path / "t")
    paths = pa.array([*open_lake_table(path).files["path"].to_pylist(), "/not/of/the/table"])
    own = own_statistics(LakeTable(path), paths)
    assert own is not None
    p, v = Column(("p",), "string"), Column(("v",), "bigint")
    read = {
        "p": own.read(Call("EqualTo", (p, Literal(pa.scalar("é"))))),
        "v": own.read(Call("GreaterThanOrEqual", (v, Literal(pa.scalar(20))))),
        "null": own.read(Call("IsNull", (v,))),
        "unknown": own.read(Call("udf:f", (v,))),
    }
    # The last path is of no file that is known of, which is always read.
    assert {name: (mask.tolist()[-1], int(mask.sum())) for name, mask in read.items()} == {
        "p": (True, 3),
        "v": (True, 2),
        "null": (True, 3),
        "unknown": (True, 4),
    }


def test_a_fault_in_bounds_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = split(tmp_path / "t")
    left_out, asked = require_kept(path)
    assert 0 < left_out < asked
    whole = module._known

    def exchanged(snapshot: Any) -> Iterator[Any]:
        for index, values in whole(snapshot):
            if {"min", "max"} <= values.keys():
                values = {**values, "min": values["max"], "max": values["min"]}
            yield index, values

    monkeypatch.setattr(module, "_known", exchanged)
    with pytest.raises(AssertionError):
        require_kept(path)


def test_plain_files_have_none_of_their_own(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [1]}), tmp_path / "part.parquet")
    lake = LakeTable(str(tmp_path))
    assert format_with_statistics(LakeTable(f"{tmp_path}/*.parquet")) is None
    assert format_with_statistics(lake) is None and own_statistics(lake, pa.array(["x"])) is None
    kept = {name: is_of_own_statistics(index_from_specification(name)) for name in ("minmax:v", "nulls:v")}
    kept |= {
        name: is_of_own_statistics(index_from_specification(name)) for name in ("partition:v", "bloom:v")
    }
    assert kept == {"minmax:v": True, "nulls:v": True, "partition:v": True, "bloom:v": False}
