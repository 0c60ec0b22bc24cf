"""``starskip secondary``: its documents, exit codes and messages."""

from __future__ import annotations

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


def test_check_counts_entries_or_names_the_first_fault(table: str) -> None:
    done = run("check", table, "--predicates", "20", "--seed", "5")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document.pop("answers")["btree:user"] > 0
    assert document == {
        "predicates": 20,
        "entries": 1000,
        "wrong": 0,
        "seed": 5,
        "indexes": {"btree:user": 1000},
        "files_not_indexed": 0,
    }
    told = run("check", table, "--format", "text", "--predicates", "0").stdout
    assert told == "btree:user  1,000 entries agree with the rows, 0 answers with a scan\n"
    path, status = Path(table) / "a.parquet", (Path(table) / "a.parquet").stat()
    rows = pq.read_table(path)
    users = rows["user"].to_pylist()
    users[1], users[2] = users[2], users[1]
    # Other values of as many bytes, at the same time: nothing but the rows shows that they are others.
    pq.write_table(rows.set_column(1, "user", pa.array(users)), path, row_group_size=50)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    done = run("check", table)
    assert done.exit_code == 3
    assert done.stderr == (
        f"starskip: btree:user: row 1 (the first is 0) of {path} has an entry under another key; "
        "`starskip secondary refresh --full` makes the indexes anew\n"
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
        (("check", "{t}/gone"), 3, "there is no such folder"),
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
