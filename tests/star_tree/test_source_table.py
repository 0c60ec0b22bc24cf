"""Tables as people's programs leave them: what can be read is, all else is one line with file and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.errors import ConfigError, MissingSource, SourceError, SourceOutage, StarskipError
from starskip.star_tree.build import source_files
from starskip.star_tree.build.source_table import source_table


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write texts, bytes and Arrow tables as files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def documents(trees: SimpleNamespace, tmp_path: Path) -> Callable[..., Any]:
    """Give a function that writes files, builds a tree over a and m, and returns its base documents."""

    def base(files: Mapping[str, Any], order: str = "a", pairs: str = "SUM__m", **options: Any) -> Any:
        write(tmp_path / "table", files)
        tree = trees.build(tmp_path / "table", trees.config(order, pairs), **options).trees[0]
        width = len(order.split())
        return [found for found in trees.documents_of(tree) if trees.STAR not in found[:width]]

    return base


def refusal(call: Callable[[], Any], kind: type[StarskipError] = SourceError) -> str:
    with pytest.raises(kind) as refused:
        call()
    text = str(refused.value)
    assert "\n" not in text and len(text) <= 500
    return text


def rows(**columns: Any) -> pa.Table:
    return pa.table(columns)


def test_quoted_line_breaks_separators_and_unicode(documents: Any) -> None:
    text = 'a,m\n"x\ny",1\n"say ""hi"", ü",2\n𐀀,3\n'
    assert documents({"t.csv": text}) == [('say "hi", ü', 2), ("x\ny", 1), ("𐀀", 3)]


def test_an_empty_text_is_a_text_and_an_empty_number_is_null(documents: Any) -> None:
    assert documents({"t.csv": "a,m\n,1\n\\N,2\nx,\ny,\\N\n"}) == [
        ("", 1),
        ("x", None),
        ("y", None),
        (None, 2),
    ]


def test_types_of_csv_columns_are_told_from_their_values(documents: Any, tmp_path: Path) -> None:
    text = "n,f,d,t,m,b\n1,1.5,2026-11-18,2026-11-18 01:02:03,12:30:00,true\n"
    write(tmp_path / "types", {"t.csv": text})
    types = {field.name: field.type for field in source_table(str(tmp_path / "types")).schema}
    # Milliseconds, since Parquet has no seconds: what is read back has the type that it had.
    moment, hour = pa.timestamp("ms"), pa.time32("ms")
    assert list(types.values()) == [pa.int64(), pa.float64(), pa.date32(), moment, hour, pa.bool_()]
    found = documents({"t.csv": text}, "n f d t m b", "MIN__t MAX__m")
    values = (1, 1.5, date(2026, 11, 18), datetime(2026, 11, 18, 1, 2, 3), time(12, 30), True)
    assert found == [(*values, values[3], values[4])]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_data(documents: Any) -> None:
    assert documents({"t.csv": "\ufeffa,m\r\nx,1\r\n"}) == [("x", 1)]


def test_columns_of_csv_files_may_be_in_another_order_and_more(documents: Any) -> None:
    files = {"1.csv": "a,m\nx,1\n", "2.csv": "z,m,a\n9,5,y\n"}
    assert documents(files) == [("x", 1), ("y", 5)]


def test_a_file_with_a_header_only_tells_no_types(documents: Any) -> None:
    assert documents({"1.csv": "a,m\n", "2.csv": "a,m\nx,1\n"}) == [("x", 1)]


def test_a_column_without_values_at_first_is_a_text(documents: Any) -> None:
    assert documents({"1.csv": "a,m\n,1\n", "2.csv": "a,m\nx,1\n"}) == [("", 1), ("x", 1)]


def test_a_csv_cast_reads_the_text_itself(documents: Any) -> None:
    # Told from the values, 007 would be the number 7, and 0.10 a float.
    text = "a,m\n007,0.10\n7,0.20\n"
    casts = {"a": "string", "m": "decimal(12,2)"}
    assert documents({"t.csv": text}, casts=casts) == [("007", Decimal("0.10")), ("7", Decimal("0.20"))]


CSV_REFUSALS = {
    "empty file": ({"t.csv": ""}, "t.csv: cannot be read (Empty CSV file)"),
    "other type later": ({"1.csv": "a,m\nx,1\n", "2.csv": "a,m\ny,1\nz,oops\n"}, "2.csv: column m: Row #3"),
    "missing column": ({"1.csv": "a,m\nx,1\n", "2.csv": "a\nx\n"}, "2.csv: column m is missing"),
    "ragged": ({"t.csv": "a,m\nx,1\ny,1,2\n"}, "t.csv: cannot be read (CSV parse error: Row #3: Expected 2"),
    "open quote": ({"t.csv": 'a,m\nx,1\n"y,2\n'}, "t.csv: cannot be read (CSV parse error"),
    "twice": ({"t.csv": "a,a,m\nx,y,1\n"}, "t.csv: column a is there twice"),
    "not UTF-8": ({"1.csv": "a,m\nx,1\n", "2.csv": b"a,m\n\xff,1\n"}, "2.csv: column a: Row #2"),
}


@pytest.mark.parametrize("situation", CSV_REFUSALS)
def test_a_csv_file_that_cannot_be_read_is_named(documents: Any, situation: str) -> None:
    files, told = CSV_REFUSALS[situation]
    assert told in refusal(lambda: documents(files))


def test_a_bad_value_far_into_a_file_is_named_with_its_column(documents: Any) -> None:
    # Behind the first block of 16 MB, of which types are told.
    text = "z,a,m\n" + f"{'z' * 60},x,1\n" * 300_000 + "z,x,1x\n"
    told = refusal(lambda: documents({"t.csv": text}))
    assert "t.csv: column m: " in told and "'1x'" in told


def test_a_float_behind_integers_is_no_silent_rounding(documents: Any) -> None:
    files = {"1.csv": "a,m\nx,1\n", "2.csv": "a,m\nx,1.5\n"}
    assert "2.csv: column m: " in refusal(lambda: documents(files))
    assert documents(files, casts={"m": "double"}) == [("x", 2.5)]


def test_parquet_files_with_several_row_groups_are_read_in_pieces(trees: Any, tmp_path: Path) -> None:
    values = np.arange(1000)
    pq.write_table(pa.table({"a": values % 7, "m": values}), tmp_path / "t.parquet", row_group_size=64)
    source = source_table(str(tmp_path / "t.parquet"))
    chunks = source.chunks(200)
    assert [(chunk.first_row_group, chunk.end_row_group) for chunk in chunks] == [
        (0, 4),
        (4, 8),
        (8, 12),
        (12, 16),
    ]
    read = [table.num_rows for chunk in chunks for table in source.batches(chunk, ["m"])]
    assert sum(read) == 1000
    tree = trees.build(tmp_path / "t.parquet", trees.config("a", "SUM__m"), rows_per_task=200).trees[0]
    assert trees.documents_of(tree)[-1] == (trees.STAR, 499_500)


def test_a_file_without_rows_or_row_groups_is_no_hindrance(documents: Any, tmp_path: Path) -> None:
    none = rows(a=pa.array([], pa.string()), m=pa.array([], pa.int64()))
    (tmp_path / "table").mkdir()
    with pq.ParquetWriter(tmp_path / "table" / "0.parquet", none.schema):
        pass
    assert documents({}) == []
    assert documents({"1.parquet": none, "2.parquet": rows(a=["x"], m=[1])}) == [("x", 1)]


def test_a_column_of_nulls_has_the_type_of_the_next_file_that_knows_it(documents: Any) -> None:
    files = {"1.parquet": rows(a=pa.nulls(2), m=[1, 2]), "2.parquet": rows(a=["x"], m=[4])}
    assert documents(files) == [("x", 4), (None, 3)]
    files = {"1.parquet": rows(a=["x"], m=[1]), "2.parquet": rows(a=pa.nulls(1), m=pa.nulls(1))}
    assert documents(files) == [("x", 1), (None, None)]


def test_how_values_are_laid_out_does_not_matter(documents: Any) -> None:
    layouts = [
        pa.array(["x"]),
        pa.array(["x"], pa.large_string()),
        pa.array(["x"], pa.string_view()),
        pa.array(["x"]).dictionary_encode(),
        pa.array(["x"], pa.dictionary(pa.int8(), pa.large_string())),
    ]
    for first in (0, 3):
        order = layouts[first:] + layouts[:first]
        files = {f"{number}.parquet": rows(a=each, m=[1]) for number, each in enumerate(order)}
        assert documents(files) == [("x", 5)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1.5, -2.0], pa.float16()), [-2.0, 1.5]),
        (
            pa.array([Decimal("1.20"), Decimal("-1.20")], pa.decimal32(5, 2)),
            [Decimal("-1.20"), Decimal("1.20")],
        ),
        (pa.array([Decimal("1.20")], pa.decimal64(12, 2)), [Decimal("1.20")]),
        (pa.array([Decimal(10**40)], pa.decimal256(50, 0)), [Decimal(10**40)]),
        (pa.array([datetime(2026, 1, 1)], pa.timestamp("s")), [datetime(2026, 1, 1)]),
        (pa.array([time(1, 2)], pa.time32("s")), [time(1, 2)]),
        (pa.array([date(2026, 1, 1)], pa.date64()), [date(2026, 1, 1)]),
        (pa.nulls(1), []),
        (pa.array([b"ab", b"aa"], pa.binary(2)), [b"aa", b"ab"]),
    ],
    ids=lambda each: str(each.type) if isinstance(each, pa.Array) else "",
)
def test_types_that_are_rare_are_dimensions_and_measures_too(
    trees: Any, values: pa.Array, expected: list[Any]
) -> None:
    table = rows(a=values, k=[1] * len(values))
    tree = trees.build_of(table, trees.config("a k", "COUNT__* MIN__a DISTINCTCOUNTHLL__a")).trees[0]
    assert tree.dictionary("a").to_pylist() == expected
    assert trees.documents_of(tree)[0][3] == (expected[0] if expected else None)
    assert tree.dictionary("a").type == tree.types["a"]


def test_a_file_of_a_narrower_type_is_read_without_loss(documents: Any) -> None:
    narrow = rows(a=["x"], m=pa.array([1], pa.int8()))
    for wide, expected in ((pa.array([2**40]), 2**40 + 1), (pa.array([0.5]), 1.5)):
        assert documents({"1.parquet": rows(a=["x"], m=wide), "2.parquet": narrow}) == [("x", expected)]
    money = pa.array([Decimal("0.10")], pa.decimal128(20, 2))
    assert documents({"1.parquet": rows(a=["x"], m=money), "2.parquet": narrow}) == [("x", Decimal("1.10"))]


OTHER_TYPES = {
    "fraction": (pa.array([1]), pa.array([1.5])),
    "whole float": (pa.array([1]), pa.array([2.0])),
    "large integer": (pa.array([1], pa.int32()), pa.array([2**40])),
    "integer beyond a float": (pa.array([1.0]), pa.array([2**53 + 1])),
    "double as float": (pa.array([1], pa.float32()), pa.array([0.1])),
    "text": (pa.array([1]), pa.array(["1"])),
    "number as text": (pa.array(["1"]), pa.array([1])),
    "moment as date": (pa.array([date(2026, 1, 1)]), pa.array([datetime(2026, 1, 1, 2)])),
    "zone": (pa.array([datetime(2026, 1, 1)], pa.timestamp("us", "UTC")), pa.array([datetime(2026, 1, 1)])),
    "finer decimal": (
        pa.array([Decimal("0.1")], pa.decimal128(9, 1)),
        pa.array([Decimal("0.15")], pa.decimal128(9, 2)),
    ),
}


@pytest.mark.parametrize("situation", OTHER_TYPES)
def test_a_type_that_does_not_fit_is_named_with_file_and_column(documents: Any, situation: str) -> None:
    first, second = OTHER_TYPES[situation]
    files = {"1.parquet": rows(a=first, m=[1]), "2.parquet": rows(a=second, m=[1])}
    told = refusal(lambda: documents(files))
    assert f"2.parquet: column a: is {second.type} and does not fit {first.type}" in told


def test_a_list_where_the_table_has_plain_values_is_named(documents: Any) -> None:
    files = {"1.parquet": rows(a=["x"], m=[1]), "2.parquet": rows(a=[["x"]], m=[1])}
    assert "2.parquet: column a: is list<" in refusal(lambda: documents(files))


def test_casts_read_a_column_as_what_is_asked_for(documents: Any) -> None:
    table = rows(a=[date(2026, 11, 18), None], m=[1, 2])
    assert documents({"t.parquet": table}, casts={"a": "string"}) == [("2026-11-18", 1), (None, 2)]
    mixed = {"t.parquet": rows(a=[1], m=[1]), "u.parquet": rows(a=["1"], m=[2])}
    assert documents(mixed, casts={"a": "string"}) == [("1", 3)]


def test_a_wrong_cast_is_named(documents: Any) -> None:
    files = {"t.parquet": rows(a=["x"], m=[1])}
    assert "there is no column z to cast" in refusal(lambda: documents(files, casts={"z": "string"}))
    assert "column a: 'strng' is no type" in refusal(lambda: documents(files, casts={"a": "strng"}))
    assert "column a: 'decimal(99,2)' is no type" in refusal(
        lambda: documents(files, casts={"a": "decimal(99,2)"})
    )
    assert "t.parquet: column a: is string" in refusal(lambda: documents(files, casts={"a": "int64"}))


def test_a_missing_column_of_one_file_is_named(documents: Any) -> None:
    files = {"1.parquet": rows(a=["x"], m=[1]), "2.parquet": rows(a=["x"])}
    assert "2.parquet: column m is missing" in refusal(lambda: documents(files))
    files = {"1.parquet": rows(a=["x"]), "2.parquet": rows(a=["x"], m=[1])}
    assert "has no column m" in refusal(lambda: documents(files), ConfigError)


def test_a_damaged_file_is_named_whatever_is_damaged(documents: Any, tmp_path: Path) -> None:
    good = {"1.parquet": rows(a=["x"] * 500, m=list(range(500)))}
    whole = (write(tmp_path / "good", good) / "1.parquet").read_bytes()
    for damaged in (whole[:-6], b"", b"PAR1", whole[:40] + b"z" * 60 + whole[100:], whole[: len(whole) // 2]):
        told = refusal(lambda damaged=damaged: documents({**good, "2.parquet": damaged}))  # type: ignore[misc]
        assert "2.parquet: cannot be read (" in told


def test_hive_partitions_are_columns(documents: Any) -> None:
    files = {
        "a=1/b=x%20y/f.parquet": rows(m=[1]),
        "a=2/b=__HIVE_DEFAULT_PARTITION__/f.parquet": rows(m=[2]),
        "a=-3/b=\\N/f.parquet": rows(m=[4]),
    }
    assert documents(files, "a b") == [(-3, "\\N", 4), (1, "x y", 1), (2, None, 2)]
    assert documents(files, "b") == [("\\N", 4), ("x y", 1), (None, 2)]
    assert documents(files, "a", casts={"a": "string"}) == [("-3", 4), ("1", 1), ("2", 2)]


def test_hive_partitions_of_csv_files_and_a_table_of_partitions_alone(documents: Any) -> None:
    files = {"a=x/f.csv": "m\n1\n2\n", "a=y/f.csv": "m\n3\n"}
    assert documents(files) == [("x", 3), ("y", 3)]
    assert documents(files, "a", "COUNT__*") == [("x", 2), ("y", 1)]


def test_parquet_partitions_without_any_other_column_are_counted(documents: Any) -> None:
    files = {"a=x/f.parquet": rows(m=[1, 2]), "a=y/f.parquet": rows(m=[3])}
    assert documents(files, "a", "COUNT__*") == [("x", 2), ("y", 1)]


def test_a_partition_that_is_a_column_too_is_told_by_the_folder(documents: Any) -> None:
    files = {"a=x/f.parquet": rows(a=["other"], m=[1]), "a=y/f.parquet": rows(a=["other"], m=[2])}
    assert documents(files) == [("x", 1), ("y", 2)]


@pytest.mark.parametrize("other", ["f.parquet", "z.parquet", "a=1/b=2/f.parquet"])
def test_partitions_that_not_all_files_have_are_refused(documents: Any, other: str) -> None:
    files = {"a=1/f.parquet": rows(m=[1]), other: rows(m=[1])}
    told = refusal(lambda: documents(files))
    assert "f.parquet: lies in a folder " in told and "other files of the table do not" in told


def test_a_partition_of_another_type_later_is_a_text(documents: Any) -> None:
    files = {"a=1/f.parquet": rows(m=[1]), "a=x/f.parquet": rows(m=[2]), "a=01/f.parquet": rows(m=[4])}
    assert documents(files) == [("01", 4), ("1", 1), ("x", 2)]


def test_hidden_files_are_no_part_of_the_table(documents: Any) -> None:
    files = {
        "t.parquet": rows(a=["x"], m=[1]),
        "_SUCCESS": "",
        ".t.parquet.crc": "",
        "_metadata.parquet": b"?",
        "_temporary/u.parquet": b"?",
        ".hidden/v.csv": "?",
        "notes.txt": "?",
    }
    assert documents(files) == [("x", 1)]


def test_folders_that_hold_no_one_table_are_refused(trees: Any, tmp_path: Path) -> None:
    both = write(tmp_path / "both", {"t.csv": "a,m\n", "u.parquet": rows(a=["x"], m=[1])})
    assert "has .csv and .parquet files" in refusal(lambda: source_table(str(both)))
    (tmp_path / "none").mkdir()
    assert "has no .csv and no .parquet file" in refusal(lambda: source_table(str(tmp_path / "none")))
    missing = tmp_path / "missing"
    assert f"{missing}: there is no such" in refusal(lambda: source_table(str(missing)), MissingSource)
    assert "there is no such" in refusal(lambda: source_table(f"{missing}.csv"), MissingSource)
    other = write(tmp_path / "other", {"t.txt": "a"}) / "t.txt"
    assert "is neither a .csv nor a .parquet file" in refusal(lambda: source_table(str(other)))


def test_names_with_dots_and_of_our_own_columns_are_just_names(documents: Any) -> None:
    table = rows(**{"a.b": ["x", "y"], "a": ["p", "q"], "code(a)": ["r", "s"], "sum(m)": [1, 2], "m": [4, 8]})
    found = documents({"t.parquet": table}, "a.b a code(a)", "SUM__m SUM__sum(m)")
    assert found == [("x", "p", "r", 4, 1), ("y", "q", "s", 8, 2)]


def test_a_store_that_does_not_answer_is_no_table_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(path: str, *_: Any, **__: Any) -> Any:
        raise SourceOutage(f"{path}: does not answer", source=path)

    monkeypatch.setattr(source_files, "open_lake_table", silent)
    with pytest.raises(SourceOutage):
        source_files.source_changes("s3://bucket/table", ())
