from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def test_the_file_and_what_is_said_of_it(call: Call, deep_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "packed.json"
    result = call("collect-metadata", "--segments", deep_store, "--output", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "airlineStats: 84 columns of 3 segments, 1,101 rows",
        "lineitem: 16 columns of 1 segments, 74,954 rows",
        f"written to {out}",
    ]
    document = json.loads(out.read_text())
    assert list(document) == ["col_meta", "segment_meta"]
    assert list(document["col_meta"]) == ["airlineStats", "lineitem"]
    assert document["col_meta"]["lineitem"]["l_shipdate"]["n_totalDocs"] == 74_954, "a DATE_TIME column"
    assert document["segment_meta"]["lineitem"]["l_suppkey"]["lineitem_0.tar.gz"]["cardinality"] == "500"
    assert [path.name for path in tmp_path.iterdir()] == ["packed.json"]


def test_a_folder_one_table_and_json_in_pinots_spelling(call: Call, deep_store: Path, tmp_path: Path) -> None:
    result = call(
        "CollectMetadataForIndexTuning", "-segments", deep_store, "-out", tmp_path, "-tables", "lineitem",
        "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0
    path = tmp_path / "metadata.json"
    assert json.loads(result.stdout) == {
        "file": str(path),
        "tables": {"lineitem": {"segments": 1, "columns": 16, "rows": 74_954}},
        "damaged": [],
    }
    before = path.read_bytes()
    call("collect-metadata", "--segments", deep_store, "--output", path, "--tables", "lineitem,lineitem")
    assert path.read_bytes() == before, "the same segments, the same file"


@pytest.fixture
def damaged_store(deep_store: Path, tmp_path: Path) -> Path:
    root = tmp_path / "damaged"
    shutil.copytree(deep_store, root)
    (root / "airlineStats" / "bad.tar.gz").write_bytes(b"x" * 999)
    (root / "broken").mkdir()
    (root / "broken" / "all.tar.gz").write_bytes(b"x" * 999)
    (root / "empty").mkdir()
    return root


def test_damaged_segments_are_named_and_the_rest_goes_on(
    call: Call, damaged_store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.json"
    result = call("collect-metadata", "--segments", damaged_store, "--output", out, "--format", "json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document["tables"]) == ["airlineStats", "lineitem"]
    assert {item["reason"] for item in document["damaged"]} == {"not_a_tar"}
    lines = result.stderr.splitlines()
    assert [line.partition(": warning: ")[2].partition(":")[0] for line in lines] == [
        "table empty has no segments",
        "table broken",
        f"damaged segment {damaged_store}/airlineStats/bad.tar.gz",
        f"damaged segment {damaged_store}/broken/all.tar.gz",
    ]
    asked = call("collect-metadata", "--segments", damaged_store, "--output", out, "--tables", "broken")
    assert (asked.exit_code, asked.stdout) == (3, "")
    assert "table broken: none of its segments can be read" in asked.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--output", "{tmp}/m.json"], 2, "Missing option '--segments'"),
        (["--segments", "", "--output", "{tmp}/m.json"], 2, "give the folder with one folder a table"),
        (["--segments", "{store}", "--output", ""], 2, "give a file or folder of this machine"),
        (["--segments", "{store}", "--output", "s3://b/m.json"], 2, "give a file or folder of this machine"),
        (["--segments", "{tmp}/none", "--output", "{tmp}/m.json"], 3, "none does not exist"),
        (["--segments", "{store}", "--output", "{tmp}/a/b/m.json"], 3, "m.json: its folder does not exist"),
        (["--segments", "{store}", "--output", "{tmp}/m.json", "--tables", "nope"], 3, "unknown table nope"),
    ],
)
def test_bad_input(
    arguments: list[str], code: int, said: str, call: Call, deep_store: Path, tmp_path: Path
) -> None:
    filled = [each.format(tmp=tmp_path, store=deep_store) for each in arguments]
    result = call("collect-metadata", *filled)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_file_stays_as_it_was_if_the_new_one_is_not_finished(
    call: Call, deep_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m.json"
    out.write_text("before")

    def broken(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "starskip.pinot.segments.collect_packed_metadata.packed_metadata", lambda _: map(broken, "x")
    )
    result = call("collect-metadata", "--segments", deep_store, "--output", out, "--tables", "lineitem")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"starskip: {out}: No space left on device: the disk mounted at ")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
    assert out.read_text() == "before"


def test_a_device_is_not_replaced(call: Call, deep_store: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = call("collect-metadata", "--segments", deep_store, "--output", pipe, "--tables", "lineitem")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"starskip: {pipe}: is no file that could be replaced: give another one\n"
    assert pipe.is_fifo()


def test_a_link_stays_and_its_target_is_replaced(call: Call, deep_store: Path, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    out = tmp_path / "link.json"
    arguments = ("collect-metadata", "--segments", deep_store, "--tables", "lineitem", "--output", out)
    assert call(*arguments).exit_code == 0
    assert out.is_symlink()
    assert list(json.loads((tmp_path / "real.json").read_text())["col_meta"]) == ["lineitem"]


def test_names_on_disk_that_are_no_utf8(call: Call, deep_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "segments"
    shutil.copytree(deep_store / "lineitem", store / "lineitem")
    shutil.copytree(deep_store / "lineitem", store / os.fsdecode(b"t\xff"))
    (store / "lineitem" / "lineitem_0.tar.gz").rename(store / "lineitem" / os.fsdecode(b"a\xfe.tar.gz"))
    (store / "lineitem" / os.fsdecode(b"bad\xfe.tar.gz")).write_bytes(b"x" * 999)
    arguments = ("collect-metadata", "--segments", store, "--output", tmp_path / "m.json", "--format", "json")
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert list(document["tables"]) == ["lineitem"]
    assert [Path(damaged["file"]).name for damaged in document["damaged"]] == ["bad?.tar.gz"]
