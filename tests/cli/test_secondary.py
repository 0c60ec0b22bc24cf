"""``starskip secondary``: its documents, exit codes and messages."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from starskip.cli.main import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["secondary", *arguments])


@pytest.fixture
def table(tmp_path: Path) -> str:
    folder = tmp_path / "events"
    folder.mkdir()
    rows = pa.table(
        {"id": range(1000), "user": [i * 7 % 1000 for i in range(1000)], "x": [0.5, float("nan")] * 500}
    )
    pq.write_table(rows, folder / "a.parquet", row_group_size=50)
    os.utime(folder / "a.parquet", (1_700_000_000, 1_700_000_000))
    assert run("create", str(folder), "--index", "btree:user").exit_code == 0
    return str(folder)


def test_query_prints_columns_rows_and_stats(table: str) -> None:
    done = run("query", table, "WHERE user = 7", "--columns", "id,x", "--path", "btree:user")
    document = json.loads(done.stdout)
    assert document["columns"] == ["id", "x"]
    assert document["rows"] == [[1, "NaN"]]
    stats = document["stats"]
    assert stats["path"] == ["btree:user"] and stats["rows"] == 1
    assert stats["candidates_read"] == {"btree:user": 1}
    assert (stats["row_groups_read"], stats["row_groups_total"]) == (1, 20)
    assert stats["bytes_total"] == (Path(table) / "a.parquet").stat().st_size
    assert stats["bytes_read"] > 0 and stats["ms"] > 0
    counted = json.loads(run("query", table, "user < 10", "--count").stdout)
    assert counted["count"] == 10 and counted["stats"]["rows"] == 10
    scanned = json.loads(run("query", table, "user < 10", "--path", "scan", "--limit", "3").stdout)
    assert len(scanned["rows"]) == 3 and scanned["stats"]["path"] == ["scan"]
    assert (
        run("query", table, "user = 7", "--columns", "id,user", "--format", "csv").stdout == "id,user\n1,7\n"
    )


def test_explain_prints_all_candidates_with_the_scan(table: str) -> None:
    document = json.loads(run("explain", table, "user = 7", "--format", "json").stdout)
    assert document.keys() == {"candidates", "chosen", "reason"}
    assert ["scan"] in [each["path"] for each in document["candidates"]]
    assert all(each.keys() == {"path", "estimated_rows", "estimated_ms"} for each in document["candidates"])
    assert "chosen: " in run("explain", table, "user = 7").stdout


def test_the_lifecycle(table: str) -> None:
    assert "1 unchanged" in run("refresh", table).stdout
    assert [each["index"] for each in json.loads(run("list", table, "--format", "json").stdout)] == [
        "btree:user",
        "primary:id",
    ]
    assert json.loads(run("describe", table, "--format", "json").stdout)["rows"] == 1000
    assert "btree:user" in run("describe", table).stdout
    assert "nothing to optimize" in run("optimize", table).stdout
    assert run("delete", table, "--index", "btree:user").exit_code == 0
    assert "removed" in run("vacuum", table, "--grace-hours", "0").stdout


def put(path: Path, content: bytes, tick: int = 0) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_700_000_000 + tick, 1_700_000_000 + tick))


def test_csv_files_keep_their_options_with_the_indexes(tmp_path: Path) -> None:
    folder = tmp_path / "hits"
    put(folder / "a.csv", b"id;url\n\n1;x/y\n2;\n")
    put(folder / "b.csv.gz", gzip.compress(b'id;url\n3;"x/z"\n'))
    of_csv = ("--format", "csv", "--option", "header=true", "--option", "sep=;")
    done = run("create", str(folder), "--index", "btree:url", *of_csv)
    assert done.exit_code == 0, done.output
    put(folder / "c.csv", b"id;url\n4;x/y\n", 1)
    for _ in range(2):
        document = json.loads(run("query", str(folder), "url = 'x/y'", "--path", "btree:url").stdout)
        assert document["columns"] == ["id", "url"]
        assert sorted(document["rows"]) == [["1", "x/y"], ["4", "x/y"]]
        stats = document["stats"]
        assert (stats["row_groups_read"], stats["row_groups_total"]) == (2, 3)
        assert stats["bytes_read"] > (folder / "a.csv").stat().st_size
        assert run("refresh", str(folder)).exit_code == 0
    assert json.loads(run("describe", str(folder), "--format", "json").stdout)["rows"] == 4
    put(folder / "c.csv", b"other;url\n5;x/y\n", 2)
    done = run("query", str(folder), "url = 'x/y'")
    assert done.exit_code == 3 and "/c.csv: has other columns in its first line than" in done.output
    put(folder / "c.csv", b'id;url\n5;"x"y"\n', 3)
    done = run("query", str(folder), "url = 'x/y'")
    assert done.exit_code == 3 and "c.csv: is not read as Spark reads it: it has quotes" in done.output
    done = run("create", str(folder), "--index", "btree:id", "--option", "header=false")
    assert done.exit_code == 3 and "other options" in done.output


def test_json_files_widen_whole_numbers_and_refuse_other_types(tmp_path: Path) -> None:
    folder = tmp_path / "hits"
    put(folder / "a.json", b'{"id":1,"late":null}\n\n{"id":9007199254740993,"more":"x"}\n')
    assert run("create", str(folder), "--index", "btree:id", "--format", "json").exit_code == 0
    asked = ("query", str(folder), "id > 1", "--columns", "id,late", "--path", "btree:id")
    assert json.loads(run(*asked).stdout)["rows"] == [[9007199254740993, None]]
    put(folder / "b.json", b'{"id":2.5,"late":7}\n', 1)
    for _ in range(2):
        rows = json.loads(run(*asked).stdout)["rows"]
        assert sorted(rows, key=str) == [[2.5, 7], [9007199254740992.0, None]]
        assert run("refresh", str(folder)).exit_code == 0
    put(folder / "c.json", b'{"id":"text"}\n', 2)
    done = run(*asked)
    assert (
        done.exit_code == 3 and "/c.json: column id is string here and double in other files" in done.output
    )


def test_a_parquet_file_of_another_type_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "hits"
    folder.mkdir()
    for name, values in {"a": [1], "b": [2], "c": ["text"], "d": [3]}.items():
        pq.write_table(pa.table({"id": values}), folder / f"{name}.parquet")
    done = run("create", str(folder), "--index", "btree:id")
    assert (
        done.exit_code == 3
        and "/c.parquet: column id is string here and bigint in other files" in done.output
    )
    (folder / "c.parquet").write_bytes(b"PAR1 damaged")
    pq.write_table(pa.table({"id": ["text"]}), folder / "d.parquet")
    done = run("create", str(folder), "--index", "btree:id")
    assert (
        done.exit_code == 3
        and "/d.parquet: column id is string here and bigint in other files" in done.output
    )
    (folder / "d.parquet").unlink()
    assert run("create", str(folder), "--index", "btree:id").exit_code == 0


def test_a_field_of_another_type_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "hits"
    folder.mkdir()
    for name, value in {"a": 1, "b": "text"}.items():
        rows = pa.table({"id": [1], "p": [{"q": {"z": value}, "x": 1}]})
        pq.write_table(rows, folder / f"{name}.parquet")
    done = run("create", str(folder), "--index", "btree:id")
    assert done.exit_code == 3
    assert "/b.parquet: column p.q.z is string here and bigint in other files of" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "{t}", "--index", "foo:id"), 2, "no kind of secondary index is called foo"),
        (("create", "{t}", "--index", "btree:nope"), 3, "the table has no column nope"),
        (("create", "{t}/gone", "--index", "btree:id"), 3, "there is no such file or folder"),
        (("query", "{t}/gone", "id = 3"), 3, "there is no such folder"),
        (("query", "{t}", "nope = 3"), 3, "the table has no column nope"),
        (("query", "{t}", "id = = 3"), 3, "cannot be parsed"),
        (("query", "{t}", "abs(id) = 3"), 3, "not evaluated here"),
        (
            ("query", "{t}", "id = '3'"),
            3,
            "id is BIGINT: write a whole number of its range, such as 7, not '3'",
        ),
        (("explain", "{t}", "id = CAST(3 AS INT)"), 3, "casts and suffixes of numbers are not evaluated"),
        (("query", "{t}", "id = 3", "--columns", "nope"), 3, "the table has no column nope"),
        (("query", "{t}", "id = 3", "--path", "btree:user"), 3, "serves no predicate"),
        (("delete", "{t}", "--index", "btree:id"), 3, "there is no index btree:id"),
    ],
)
def test_bad_input_is_one_line(table: str, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*(each.replace("{t}", table) for each in arguments))
    assert done.exit_code == code
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert code == 2 or len(done.stderr.strip().splitlines()) == 1
