"""The law of bounds that a Delta table's log has: a clause over them keeps each file with a matching row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lake_law.changing_table import LONG
from lake_law.planted import bounds_cut
from starskip.file_metadata import format_bounds
from starskip.file_metadata.format_bounds import indexes_of
from starskip.lake.open_lake_table import open_lake_table
from starskip.predicates.comparison import ComparisonOperator
from starskip.predicates.expression import Call, Column, Literal
from starskip.skipping.build_clause import build_clause
from starskip.spark.skipping.lake_reader import bounds_of

_START = datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
KINDS = {
    "t": (pa.string(), "string", st.text("aé\U0001f600", max_size=2).map(lambda end: f"{LONG}{end}")),
    "s": (pa.string(), "string", st.text("aé\U0001f600", max_size=3)),
    "i": (pa.int64(), "bigint", st.integers(-3, 3)),
    "f": (pa.float64(), "double", st.sampled_from([-1.0, -0.0, 0.0, 1.5, math.nan, math.inf])),
    "d": (
        pa.timestamp("us", "UTC"),
        "timestamp",
        st.integers(-2000, 2000).map(lambda us: _START + timedelta(microseconds=us)),
    ),
    "p": (pa.string(), "string", st.sampled_from(["a b", "é/x", "c=1%"])),
}
ROW = st.fixed_dictionaries({name: st.none() | values for name, (_, _, values) in KINDS.items()})
TABLES = st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=3)
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda one, other: one == other,
    "LessThan": lambda one, other: one < other,
    "LessThanOrEqual": lambda one, other: one <= other,
    "GreaterThan": lambda one, other: one > other,
    "GreaterThanOrEqual": lambda one, other: one >= other,
}


def key(value: Any) -> Any:
    """Return what compares as Spark does: NaN is greatest, -0.0 is 0.0, texts by their UTF-8."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return value.encode() if isinstance(value, str) else value


@dataclass(frozen=True)
class Bounds:
    """Implements FileMetadata."""

    table: pa.Table

    @property
    def files(self) -> int:
        return self.table.num_rows

    def column(self, index: str, name: str) -> pa.Array:
        assert index == "bounds"
        if name not in self.table.column_names:
            return pa.nulls(self.files)
        return self.table[name].combine_chunks()


def wrongly_left_out(
    files: list[list[dict[str, Any]]],
    name: str,
    signs: Sequence[tuple[str, Any]],
    read: Callable[..., pa.Table],
) -> list[Any]:
    """Return the rows of files that a clause leaves out, and that satisfy an AND of predicates."""
    kind, type_, _ = KINDS[name]
    schema = pa.schema([(each, of) for each, (of, _, _) in KINDS.items()])
    with TemporaryDirectory() as made:
        path = str(Path(made) / "t")
        for rows in files:
            table = pa.Table.from_pylist(rows, schema)
            write_deltalake(path, table, mode="append", partition_by=["p"])
        snapshot = open_lake_table(path)
        bounds = Bounds(read(snapshot, np.arange(snapshot.files.num_rows)))
        column = Column((name,), type_)
        asked = [
            Call(sign, (column,) if sign == "IsNull" else (column, Literal(pa.scalar(value, kind))))
            for sign, value in signs
        ]
        clause = build_clause(indexes_of("delta", name, name, name, type_), asked)
        if clause is None:
            return []
        kept = clause.may_match(bounds)
        assert len(kept) == bounds.files
        found = []
        whole = snapshot.files.to_pylist()
        for file, is_kept in zip(whole, kept, strict=True):
            if is_kept:
                continue
            stored = pa.parquet.read_table(file["path"], partitioning=None).to_pylist()
            for row in stored:
                row["p"] = dict(file["partition"])["p"]
                found += [row] if all(satisfies(row[name], *each) for each in signs) else []
        return found


def satisfies(held: Any, sign: str, value: Any) -> bool:
    if sign == "IsNull" or held is None:
        return sign == "IsNull" and held is None
    return SIGNS[sign](key(held), key(value))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(TABLES, st.sampled_from(sorted(KINDS)), st.sampled_from([*SIGNS, "IsNull"]), st.data())
def test_no_file_with_a_matching_row_is_left_out(
    files: list[list[dict[str, Any]]], name: str, sign: str, data: st.DataObject
) -> None:
    value = data.draw(KINDS[name][2])
    assert wrongly_left_out(files, name, [(sign, value)], bounds_of) == []


NUMBERS = st.tuples(st.sampled_from(sorted(SIGNS)), KINDS["f"][2])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(TABLES, st.lists(NUMBERS, min_size=2, max_size=3))
def test_no_file_with_a_number_in_a_range_is_left_out(
    files: list[list[dict[str, Any]]], signs: list[tuple[str, Any]]
) -> None:
    assert wrongly_left_out(files, "f", signs, bounds_of) == []


def test_a_range_leaves_out_files_whatever_is_known_of_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greatest number is of use where no NaN matches, and nowhere else."""
    row: dict[str, Any] = {**dict.fromkeys(KINDS), "p": "a b"}
    files = [[{**row, "f": 1.0}], [{**row, "f": 3.0}], [{**row, "f": math.nan}, {**row, "f": 0.0}]]

    def left_out(*signs: tuple[str, Any]) -> int:
        with monkeypatch.context() as patched:
            # Whatever is left out is told.
            patched.setattr(f"{__name__}.satisfies", lambda *_: True)
            return len(wrongly_left_out(files, "f", signs, bounds_of))

    assert left_out(("GreaterThanOrEqual", 2.0), ("LessThan", 5.0)) >= 1
    assert left_out(("EqualTo", 3.0)) >= 1
    above = [("GreaterThan", 2.0)]
    assert wrongly_left_out(files, "f", above, bounds_of) == []
    monkeypatch.setattr(format_bounds, "_WITHOUT_NAN", frozenset(ComparisonOperator))
    assert wrongly_left_out(files, "f", above, bounds_of)


def test_a_cut_text_that_is_taken_for_a_value_is_noticed() -> None:
    row: dict[str, Any] = {**dict.fromkeys(KINDS), "t": f"{LONG}é", "p": "a b"}
    files = [[row], [{**row, "t": f"{LONG}a"}]]
    assert wrongly_left_out(files, "t", [("EqualTo", f"{LONG}é")], bounds_of) == []
    assert wrongly_left_out(files, "t", [("EqualTo", f"{LONG}é")], bounds_cut)


@pytest.mark.parametrize(
    ("name", "sign", "kept"), [("i", "EqualTo", [1]), ("i", "IsNull", [0]), ("p", "LessThan", [])]
)
def test_what_is_known_leaves_files_out(tmp_path: Path, name: str, sign: str, kept: list[int]) -> None:
    schema = pa.schema([(each, of) for each, (of, _, _) in KINDS.items()])
    path = str(tmp_path / "t")
    for value in (None, 2):
        rows = [{**dict.fromkeys(KINDS), "i": value, "p": "a b"}]
        write_deltalake(path, pa.Table.from_pylist(rows, schema), mode="append", partition_by=["p"])
    snapshot = open_lake_table(path)
    bounds = bounds_of(snapshot, np.arange(2))
    order = [None if each is None else 1 for each in bounds["max:bigint:i"].to_pylist()]
    value = {"i": 2, "p": "a"}[name]
    column = Column((name,), KINDS[name][1])
    asked = Call(sign, (column,) if sign == "IsNull" else (column, Literal(pa.scalar(value))))
    clause = build_clause(indexes_of("delta", name, name, name, KINDS[name][1]), [asked])
    assert clause is not None
    found = np.flatnonzero(clause.may_match(Bounds(bounds))).tolist()
    assert found == [at for at, each in enumerate(order) if (1 if each else 0) in kept]
