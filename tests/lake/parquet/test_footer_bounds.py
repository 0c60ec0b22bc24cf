"""Bounds of footers, and those that are not believed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.lake.parquet.footer_bounds import FooterColumn, Footers, footer_bounds

UTC_TIME = pa.timestamp("us", "UTC")
SPARK = {b"org.apache.spark.version": b"4.2.0"}


def write(folder: Path, name: str, rows: pa.Table | dict[str, Any], **options: Any) -> str:
    path = folder / name
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.table(rows), path, **options)
    return f"file:{path}"


def bounds(paths: list[str], name: str, kind: pa.DataType, **options: Any) -> list[Any]:
    found: Footers = footer_bounds(paths, [FooterColumn(tuple(name.split(".")), kind)], **options)
    (column,) = found.columns
    assert column.least.type == column.greatest.type == kind
    return list(
        zip(
            column.least.to_pylist(),
            column.greatest.to_pylist(),
            column.values.to_pylist(),
            strict=True,
        )
    )


VALUES = [
    (pa.int8(), [3, -2, None]),
    (pa.int16(), [300, -2, None]),
    (pa.int32(), [70_000, None, -5]),
    (pa.int64(), [2**40, None, -5]),
    (pa.string(), ["é", None, "a", "z\U0001f600"]),
    (pa.binary(), [b"\xff\x00", None, b"\x00"]),
    (pa.bool_(), [True, None, False]),
    (pa.date32(), [dt.date(2020, 1, 1), None, dt.date(1999, 2, 3)]),
    (UTC_TIME, [dt.datetime(2020, 1, 1, 3, 4, 5, 6, dt.UTC), None, dt.datetime(1999, 2, 3, tzinfo=dt.UTC)]),
    (pa.timestamp("us"), [dt.datetime(2020, 1, 1, 3), None, dt.datetime(1999, 2, 3)]),
    (pa.decimal128(5, 2), [Decimal("1.20"), None, Decimal("-3.40")]),
    (pa.decimal128(38, 10), [Decimal("1234567890123456789012345678.0123456789"), None, Decimal("-1.5")]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
@pytest.mark.parametrize("as_integer", [False, True])
def test_bounds_of_all_row_groups(tmp_path: Path, kind: Any, values: Any, as_integer: bool) -> None:
    rows = {
        "c": pa.array(values, kind),
        "s": pa.array([{"c": each} for each in values], pa.struct([("c", kind)])),
    }
    options = {"row_group_size": 2, "store_decimal_as_integer": as_integer and pa.types.is_decimal(kind)}
    path = write(tmp_path, "a.parquet", rows, **options)
    known = [each for each in values if each is not None]
    for name in ("c", "C", "s.c"):
        assert bounds([path], name, kind) == [(min(known), max(known), len(known))]
    nothing = write(tmp_path, "b.parquet", {"c": pa.array([None, None], kind)})
    empty = write(tmp_path, "c.parquet", {"c": pa.array([], kind)})
    assert bounds([nothing, path, empty], "c", kind)[::2] == [(None, None, 0), (None, None, 0)]


@settings(max_examples=60)
@given(
    values=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
    group=st.integers(1, 7),
)
def test_bounds_are_those_of_the_rows(tmp_path_factory: Any, values: list[Any], group: int) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = write(folder, "law.parquet", {"c": pa.array(values, pa.int64())}, row_group_size=group)
    known = [each for each in values if each is not None]
    expected = (min(known), max(known), len(known)) if known else (None, None, 0)
    assert bounds([path], "c", pa.int64()) == [expected]


def test_narrower_numbers_are_the_same_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet", {"c": pa.array([1, -2], pa.int16())})
    assert bounds([path], "c", pa.int64()) == [(-2, 1, 2)]
    decimals = write(tmp_path, "d.parquet", {"c": pa.array([Decimal("1.20")], pa.decimal128(5, 2))})
    assert bounds([decimals], "c", pa.decimal128(20, 2)) == [(Decimal("1.20"), Decimal("1.20"), 1)]
    millis = write(tmp_path, "m.parquet", {"c": pa.array([1_600_000_000_123], pa.timestamp("ms", "UTC"))})
    ((least, greatest, _),) = bounds([millis], "c", UTC_TIME)
    assert least == greatest == dt.datetime.fromtimestamp(1_600_000_000.123, dt.UTC)


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        (pa.array([1, 2], pa.int64()), pa.int32()),
        (pa.array([1, 2], pa.uint32()), pa.int64()),
        (pa.array([1, 2], pa.uint8()), pa.int16()),
        (pa.array([1, 2], pa.date32()), pa.int32()),
        (pa.array([1, 2], pa.timestamp("us")), UTC_TIME),
        (pa.array([1, 2], UTC_TIME), pa.timestamp("us")),
        (pa.array([1, 2], pa.timestamp("ns", "UTC")), UTC_TIME),
        (pa.array([2**62, 2**62], pa.timestamp("ms", "UTC")), UTC_TIME),
        (pa.array([b"a", b"b"]), pa.string()),
        (pa.array(["a", "b"]), pa.binary()),
        (pa.array([Decimal("1.23")] * 2, pa.decimal128(9, 2)), pa.decimal128(9, 3)),
        (pa.array([Decimal("1.23")] * 2, pa.decimal128(9, 2)), pa.decimal128(8, 2)),
        (pa.array([[1], [2]]), pa.int64()),
    ],
    ids=str,
)
def test_another_type_says_nothing_of_bounds(tmp_path: Path, stored: Any, kind: Any) -> None:
    path = write(tmp_path, "a.parquet", {"c": stored})
    ((least, greatest, values),) = bounds([path], "c", kind)
    assert (least, greatest) == (None, None)
    assert values != 0


def test_files_without_statistics_or_with_legacy_timestamps(tmp_path: Path) -> None:
    times = pa.array([1, None], pa.timestamp("us"))
    plain = write(tmp_path, "a.parquet", {"c": pa.array([1, 2])}, write_statistics=False)
    legacy = write(tmp_path, "b.parquet", {"c": times}, use_deprecated_int96_timestamps=True)
    assert bounds([plain], "c", pa.int64()) == [(None, None, None)]
    assert bounds([legacy], "c", UTC_TIME) == [(None, None, None)]
    assert bounds([legacy], "c", pa.timestamp("us")) == [(None, None, None)]


@pytest.mark.parametrize("kind", [pa.date32(), UTC_TIME, pa.timestamp("us")], ids=str)
def test_old_dates_are_believed_of_spark_3_alone(tmp_path: Path, kind: Any) -> None:
    old = pa.array([dt.date(1850, 1, 1), dt.date(2020, 1, 1)]).cast(kind) if kind == pa.date32() else None
    values = old if old is not None else pa.array([-4_000_000_000_000_000, 0], pa.int64()).cast(kind)
    table = pa.table({"c": values})
    of_spark = write(tmp_path, "a.parquet", table.replace_schema_metadata(SPARK))
    of_others = write(tmp_path, "b.parquet", table)
    of_spark_2 = write(
        tmp_path, "c.parquet", table.replace_schema_metadata({b"org.apache.spark.version": b"2.4.8"})
    )
    legacy = write(
        tmp_path,
        "d.parquet",
        table.replace_schema_metadata({**SPARK, b"org.apache.spark.legacyDateTime": b""}),
    )
    known, *unknown = bounds([of_spark, of_others, of_spark_2, legacy], "c", kind)
    assert known[0] is not None and known[0] < known[1]
    assert unknown == [(None, None, 2)] * 3


def test_long_texts_may_have_been_cut_by_writers_that_do_so(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet", {"c": ["a" * 500]})
    assert bounds([path], "c", pa.string()) == [("a" * 500, "a" * 500, 1)]
    content = Path(path.removeprefix("file:")).read_bytes()
    assert content.count(b"parquet-cpp-arrow") == 1
    Path(path.removeprefix("file:")).write_bytes(content.replace(b"parquet-cpp-arrow", b"parquet-rs--other"))
    assert bounds([path], "c", pa.string()) == [(None, None, 1)]


def test_one_bad_file_leaves_the_others_known(tmp_path: Path) -> None:
    good = write(tmp_path, "good % #é.parquet", {"c": [1, 2]})
    text = tmp_path / "text.parquet"
    text.write_text("no Parquet")
    nothing = tmp_path / "nothing.parquet"
    nothing.touch()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(Path(good.removeprefix("file:")).read_bytes()[:-7])
    paths = [str(text), good, str(tmp_path / "gone"), None, str(nothing), str(cut)]
    found = footer_bounds(paths, [FooterColumn(("c",), pa.int64())])
    assert found.rows.to_pylist() == [None, 2, None, None, 0, None]
    unknown = (None, None, None)
    assert bounds(paths, "c", pa.int64()) == [unknown, (1, 2, 2), unknown, unknown, (None, None, 0), unknown]


def test_a_column_that_is_not_there_or_there_twice_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet", pa.table([[1], [2], [3]], ["c", "C", "a.b"]))
    assert bounds([path], "c", pa.int64()) == [(None, None, None)]
    assert bounds([path], "c", pa.int64(), case_sensitive=True) == [(1, 1, 1)]
    assert bounds([path], "other", pa.int64()) == [(None, None, None)]
    dotted = footer_bounds([path], [FooterColumn(("a.b",), pa.int64())])
    assert dotted.columns[0].values.to_pylist() == [None]


def test_a_column_with_dots_in_its_name_is_no_field_of_a_struct(tmp_path: Path) -> None:
    flat = write(tmp_path, "flat.parquet", {"a.b": [7], "c.d": [{"e": 7}], "f": [{"g.h": 7}]})
    nested = write(
        tmp_path, "nested.parquet", {"a": [{"B": 1}], "c": [{"d": {"e": 1}}], "f": [{"g": {"h": 1}}]}
    )
    for name in ("a.b", "c.d.e", "f.g.h"):
        assert bounds([flat, nested], name, pa.int64()) == [(None, None, None), (1, 1, 1)]
    assert bounds([nested], "a.b", pa.int64(), case_sensitive=True) == [(None, None, None)]


@pytest.mark.parametrize(
    ("writer", "is_known"),
    [
        (b"parquet-mr version 1.9.1 (build", False),
        (b"parquet-mr version 1.10.0 (build", True),
        (b"parquet-mr version 2.0 (build", True),
        (b"parquet-cpp-arrow version 3.9", False),
        (b"parquet-cpp-arrow version 4.0", True),
        (b"parquet-rs version 50.1.0", False),
    ],
)
def test_decimals_of_bytes_by_writers_that_compared_their_bytes_have_no_bounds(
    tmp_path: Path, writer: bytes, is_known: bool
) -> None:
    one, two = Decimal("1.27"), Decimal("2.00")
    wide, narrow = (pa.array([one, two], pa.decimal128(digits, 2)) for digits in (38, 9))
    rows = pa.table({"wide": wide, "narrow": narrow})
    path = write(tmp_path, "a.parquet", rows, store_decimal_as_integer=True)
    file = Path(path.removeprefix("file:"))
    own = pq.read_metadata(file).created_by.encode()
    file.write_bytes(file.read_bytes().replace(own, writer.ljust(len(own))[: len(own)]))
    assert pq.read_metadata(file).created_by.encode().startswith(writer[:20])
    assert bounds([path], "narrow", narrow.type) == [(one, two, 2)]
    assert bounds([path], "wide", wide.type) == [(one, two, 2) if is_known else (None, None, 2)]


def test_floating_point_numbers_have_no_bounds(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet", {"c": [1.0, np.nan]})
    assert bounds([path], "c", pa.float64()) == [(None, None, 2)]
