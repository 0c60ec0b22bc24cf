"""Queries of fields, quoted columns, forced paths and older versions; odd values as JSON."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable, write_deltalake
from secondary_tables import ids_where
from starskip.cli.main import main
from starskip.errors import ConfigError
from starskip.file_metadata.refresh_metadata import Clock
from starskip.secondary import open_table
from starskip.secondary.json_rows import json_rows
from starskip.secondary.lifecycle import create_indexes, refresh_indexes

CLOCK = Clock(lambda: datetime.now(UTC), lambda seconds: None)


def _put(path: Path, rows: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["secondary", *arguments])


def _document(*arguments: str) -> dict[str, Any]:
    done = _run(*arguments)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    count = 4_000
    rows = {
        "id": pa.array(range(count)),
        "u": pa.array([each * 7 % count for each in range(count)]),
        "h": pa.array([each % 997 for each in range(count)]),
        "p": pa.array([None if each % 5 == 0 else {"z": each % 7, "W": {"v": "w"}} for each in range(count)]),
        "a,b": pa.array([each % 3 for each in range(count)]),
        "do.t": pa.array(range(count)),
    }
    path = tmp_path_factory.mktemp("answers") / "t/a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table(rows), path, row_group_size=100)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    create_indexes(str(path.parent), ["btree:u", "btree:h", "btree:p.z"], clock=CLOCK)
    return path.parent


@pytest.mark.parametrize(
    "where",
    [
        "u = 7 OR h = 3",
        "(u = 7 OR h = 3) AND p.z < 5",
        "u = 7",
        "u < 90 AND NOT h = 3",
        "NOT u = 7",
        "h = 3 AND (u < 900 OR p.z = 2)",
    ],
)
def test_what_explain_shows_can_be_forced(folder: Path, where: str) -> None:
    table = open_table(str(folder))
    expected = ids_where(table, where, path=["scan"])
    plan = table.explain(where)
    assert plan.candidates
    for path in [plan.chosen, *(each.path for each in plan.candidates)]:
        assert ids_where(table, where, path=list(path)) == expected, path


def test_a_union_is_forced_by_the_names_of_its_indexes(folder: Path) -> None:
    table = open_table(str(folder))
    answer = table.answer("u = 7 OR h = 3", ["id"], path=["btree:h", "btree:u"])
    assert sorted(answer.stats["candidates_read"]) == ["btree:h", "btree:u"]
    assert answer.stats["row_groups_read"] < answer.stats["row_groups_total"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (["btree:u"], "btree:u serves no predicate alone; there are: btree:p.z, btree:u with btree:h, scan"),
        (["btree:no", "btree:p.z"], "btree:no serves no predicate with these indexes; there are: "),
        (["scan", "btree:p.z"], "scan serves no predicate with these indexes; there are: "),
    ],
)
def test_what_cannot_be_forced_is_told_with_what_can(folder: Path, path: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        open_table(str(folder)).query("(u = 7 OR h = 3) AND p.z = 2", path=path)
    assert str(raised.value).startswith(message)


def test_fields_and_quoted_columns_are_answered_by_their_names(folder: Path) -> None:
    table = open_table(str(folder))
    found = table.query("u < 70", ["id", "p.z", "P.w.V", "`a,b`", "do.t"])
    assert found.column_names == ["id", "p.z", "p.W.v", "a,b", "do.t"]
    for row in found.to_pylist():
        is_null = row["id"] % 5 == 0
        assert row["p.z"] == (None if is_null else row["id"] % 7)
        assert row["p.W.v"] == (None if is_null else "w")
        assert (row["a,b"], row["do.t"]) == (row["id"] % 3, row["id"])
    assert table.query("u < 70", ["a,b", "`do.t`", "ID"]).column_names == ["a,b", "do.t", "id"]
    few = table.answer("u < 70", ["p.z"], limit=2).rows
    assert (few.num_rows, few.column_names) == (2, ["p.z"])
    assert table.query("u = -1", ["p.z"]).schema == pa.schema([("p.z", pa.int64())])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["id", "ID"], "column ID is asked for twice"),
        (["p.z", "`p`.`z`"], "column `p`.`z` is asked for twice"),
        (["p.q"], "the table has no column p.q"),
        (["`id"], "the table has no column `id"),
    ],
)
def test_columns_that_cannot_be_answered(folder: Path, columns: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        open_table(str(folder)).query("u < 70", columns)
    assert str(raised.value) == message


def test_the_command_line_splits_columns_at_commas_outside_backticks(folder: Path) -> None:
    found = _document("query", str(folder), "u = 7", "--columns", "p.z, `a,b`,`id`")
    assert found["columns"] == ["p.z", "a,b", "id"]
    assert found["rows"] == [[1, 1, 1]]
    assert _run("query", str(folder), "u = 7", "--columns", "id,id").exit_code != 0
    done = _run("query", str(folder), "u = 7", "--columns", "p.z", "--format", "csv", "--format", "parquet")
    assert done.output == "p.z\n1\n"


def test_nanoseconds_within_structs_lists_and_maps_are_cut_as_spark_cuts_them(tmp_path: Path) -> None:
    early, late = -1, 1_700_000_000_123_456_789
    ns = pa.timestamp("ns")
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "p": pa.array(
                [{"t": early, "k": 1}, None, {"t": None, "k": 3}], pa.struct([("t", ns), ("k", pa.int8())])
            ),
            "l": pa.array([[late, None], None, []], pa.list_(ns)),
            "m": pa.array([[("a", late)], [], None], pa.map_(pa.string(), ns)),
            "d": pa.array([[{"o": "a"}], None, [{"o": None}]], pa.list_(pa.struct([("o", pa.string())]))),
        }
    )
    _put(tmp_path / "t/a.parquet", rows)
    # Another writer: a field more, whole numbers that are wider.
    wider = pa.struct([("k", pa.int64()), ("more", pa.string()), ("t", pa.timestamp("us"))])
    more = pa.array([{"k": 2**40, "more": "x", "t": 5}], wider)
    _put(tmp_path / "t/b.parquet", pa.table({"id": [4], "p": more}))
    create_indexes(str(tmp_path / "t"), ["btree:id", "btree:p.t", "btree:p.k"], clock=CLOCK)
    table = open_table(str(tmp_path / "t"))
    found = {row.pop("id"): row for row in table.query("id >= 1").to_pylist()}
    at = datetime(2023, 11, 14, 22, 13, 20, 123456)
    first = datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert found == {
        1: {"p": {"t": first, "k": 1, "more": None}, "l": [at, None], "m": [("a", at)], "d": [{"o": "a"}]},
        2: {"p": None, "l": None, "m": [], "d": None},
        3: {"p": {"t": None, "k": 3, "more": None}, "l": [], "m": None, "d": [{"o": None}]},
        4: {
            "p": {"t": datetime(1970, 1, 1, 0, 0, 0, 5), "k": 2**40, "more": "x"},
            "l": None,
            "m": None,
            "d": None,
        },
    }
    where = "p.t < TIMESTAMP_NTZ'1970-01-01 00:00:00'"
    assert ids_where(table, where, path=["btree:p.t"]) == ids_where(table, where, path=["scan"]) == [1]


def test_durations_and_times_beyond_pythons_are_texts_in_json() -> None:
    times = pa.array([10**18, 1, -(10**18), None], pa.timestamp("us"))
    rows = pa.table(
        {
            "du": pa.array([1, -90_000_500_000, None, 0], pa.duration("us")),
            "dt": pa.array([10**9, 1, -(10**6), None], pa.date32()),
            "ts": times,
            "tz": pa.array([10**18, 1_500_000, None, 0], pa.timestamp("us", "UTC")),
            "li": pa.array([[10**18, None], [], None, [1]], pa.list_(pa.timestamp("us"))),
            "st": pa.StructArray.from_arrays([times], ["t"], mask=pa.array([False, False, False, True])),
            "ma": pa.array([[("a", 10**18)], [], None, []], pa.map_(pa.string(), pa.timestamp("us"))),
        }
    )
    far = "+33658-09-27 01:46:40"
    expected = {
        "du": ["PT0.000001S", "PT-90000.500000S", None, "PT0.000000S"],
        "dt": ["+2739877-01-03", "1970-01-02", "-0768-02-04", None],
        "ts": [far, "1970-01-01 00:00:00.000001", "-29719-04-05 22:13:20", None],
        "tz": [f"{far}+00:00", "1970-01-01 00:00:01.500000+00:00", None, "1970-01-01 00:00:00+00:00"],
        "li": [[far, None], [], None, ["1970-01-01 00:00:00.000001"]],
        "st": [{"t": far}, {"t": "1970-01-01 00:00:00.000001"}, {"t": "-29719-04-05 22:13:20"}, None],
        "ma": [[["a", far]], [], None, []],
    }
    for part in (rows, pa.concat_tables([rows.slice(0, 1), rows.slice(1)])):
        found = json_rows(part)
        json.dumps(found, allow_nan=False)
        assert {name: [row[at] for row in found] for at, name in enumerate(expected)} == expected
    assert json_rows(rows.slice(2, 1)) == [[each[2] for each in expected.values()]]


def test_an_older_version_of_a_delta_table_is_asked(tmp_path: Path) -> None:
    folder = str(tmp_path / "dl")
    write_deltalake(folder, pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    write_deltalake(folder, pa.table({"id": [4], "s": ["d"]}), mode="append")
    DeltaTable(folder).delete("id = 1")
    create_indexes(folder, ["btree:id"], version=1, clock=CLOCK)
    everything = ("query", folder, "id >= 0", "--columns", "id")

    def ids(*options: str) -> list[int]:
        return sorted(row[0] for row in _document(*everything, *options)["rows"])

    assert [ids("--version", each) for each in ("0", "1", "2")] == [[1, 2, 3], [1, 2, 3, 4], [2, 3, 4]]
    assert ids() == ids("--format", "delta", "--format", "json") == [2, 3, 4]
    assert ids("--version", "0", "--path", "btree:id") == [1, 2, 3]
    explained = _document("explain", folder, "id = 1", "--version", "0", "--format", "json")
    assert [each["path"] for each in explained["candidates"]]
    assert refresh_indexes(folder, clock=CLOCK, version=1).gone_files == 0
    assert _run("refresh", folder, "--version", "2").exit_code == 0
    assert ids("--version", "1") == [1, 2, 3, 4]
    done = _run(*everything, "--version", "9")
    assert done.exit_code == 3
    assert "version 9 cannot be read; the newest is 2" in done.output


def test_plain_files_have_no_versions_and_are_no_delta_table(folder: Path) -> None:
    for command in (
        ["create", str(folder), "--index", "btree:id"],
        ["refresh", str(folder)],
        ["query", str(folder), "u = 7"],
        ["explain", str(folder), "u = 7"],
    ):
        done = _run(*command, "--version", "1")
        assert done.exit_code == 3
        assert "plain files have no version 1; leave --version out" in done.output
        done = _run(*command, "--format", "delta")
        assert done.exit_code == 3
        assert "holds no Delta table" in done.output
