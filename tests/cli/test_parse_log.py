from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

Call = Callable[..., Any]

# The table of the samples' README: what each day's log holds.
DAYS = {
    "18": {"lines": 1742, "records": 1494, "queries": 1486, "other": 8},
    "19": {"lines": 1710, "records": 1494, "queries": 1483, "other": 11},
    "20": {"lines": 1663, "records": 1487, "queries": 1481, "other": 6},
}


def counted(call: Call, *paths: str | Path) -> dict[str, Any]:
    result = call("parse-log", *paths, "--format", "json")
    assert result.exit_code == 0
    document: dict[str, Any] = json.loads(result.stdout)
    assert list(document) == ["lines", "records", "queries", "other", "rejected"]
    parts = document["queries"] + sum(document["other"].values()) + sum(document["rejected"].values())
    assert document["lines"] >= document["records"] == parts
    return document


@pytest.mark.parametrize("day", DAYS)
def test_a_day_of_the_sample(day: str, call: Call, logs: Path) -> None:
    found = counted(call, logs / f"broker-2026-11-{day}.log.gz")
    assert found["rejected"] == {}
    assert {**found, "other": sum(found["other"].values())} == {**DAYS[day], "rejected": {}}


def test_the_installed_command_prints_one_document_and_nothing_else(installed: Call, logs: Path) -> None:
    done = installed("parse-log", logs / "broker-2026-11-18.log.gz", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "lines": 1742,
        "records": 1494,
        "queries": 1486,
        "other": {"table_not_found": 5, "unknown_column": 3},
        "rejected": {},
    }
    assert done.stdout.count("\n") == 1


def test_text_is_for_people(call: Call, logs: Path) -> None:
    result = call("parse-log", logs / "broker-2026-11-18.log.gz")
    assert result.stdout.splitlines() == [
        "1,494 records on 1,742 lines",
        "       1,486 queries with counters",
        "           5 without counters: table_not_found",
        "           3 without counters: unknown_column",
    ]


def test_several_paths_a_folder_and_a_glob_are_the_same_log(call: Call, logs: Path) -> None:
    files = sorted(logs.glob("*.gz"))
    together = counted(call, *files)
    assert together["records"] == sum(day["records"] for day in DAYS.values())
    assert counted(call, logs) == together
    assert counted(call, logs / "*.log.gz") == together
    assert counted(call, logs, files[0], logs / "broker-*") == together, "a file counts once"


def test_plain_gzip_and_zstandard_are_the_same_log(call: Call, logs: Path, tmp_path: Path) -> None:
    packed = logs / "broker-2026-11-18.log.gz"
    text = gzip.decompress(packed.read_bytes())
    (tmp_path / "plain.log").write_bytes(text)
    (tmp_path / "packed.log.zst").write_bytes(zstandard.compress(text))
    shutil.copy(packed, tmp_path / "no_suffix")
    expected = counted(call, packed)
    for name in ("plain.log", "packed.log.zst", "no_suffix"):
        assert counted(call, tmp_path / name) == expected


def test_rejected_examples_are_masked_and_printable(installed: Call, tmp_path: Path, line: Call) -> None:
    bad = line("SELECT a FROM t WHERE mail = 'me@example.org' AND x = '\x1b[2J'", 5).replace("docs=", "dogs=")
    (tmp_path / "bad.log").write_text(bad * 3 + line("SELECT 1 FROM t", 5), encoding="utf-8")
    done = installed("parse-log", tmp_path / "bad.log", "--format", "json", "--rejected", "2")
    assert json.loads(done.stdout)["rejected"] == {"incomplete_record": 3}
    examples = done.stderr.splitlines()
    assert len(examples) == 2
    for example in examples:
        assert example.startswith(f"{tmp_path / 'bad.log'} at byte ")
        assert ": incomplete_record: " in example
        assert "example.org" not in example
        assert example.isprintable()


SECRETS = ("john.smith@example.com", "DE89370400440532013000", "hunter2hunter", "Zq9$$w0rd")


@pytest.mark.parametrize(
    "words",
    [
        "WHERE name = 'O'Brien' AND a = '{}' AND b = '{}' AND c = '{}' AND d = '{}'",
        'SELECT a AS "{}", b AS "{}", c AS \'{}\', d AS {}',
        "WHERE a = {} OR password={} OR iban = {}, mail={}",
        "WHERE a = $${}$$ AND b = $x${}$x$ AND c = X'{}' -- {}",
        r"WHERE a = 'C:\' AND b = '{}' AND c = '{}' AND d = \"{}\" AND e = `{}",
    ],
)
def test_rejected_records_show_no_value_and_need_no_number(
    words: str, call: Call, tmp_path: Path, line: Call
) -> None:
    query = line(f"SELECT COUNT(*) FROM t {words.format(*SECRETS)}", 5)
    (tmp_path / "bad.log").write_text(query.replace("docs=", "dogs=") * 9 + query, encoding="utf-8")
    plain = call("parse-log", "--rejected", tmp_path / "bad.log")
    as_json = call("parse-log", "--rejected", "--format", "json", tmp_path / "bad.log")
    for result, shown in ((plain, plain.stdout), (as_json, as_json.stderr)):
        assert result.exit_code == 0
        assert shown.count(": incomplete_record: ") == 9
        for secret in SECRETS:
            assert secret not in result.output
            assert not any(part in result.output for part in re.findall(r"[A-Za-z0-9]{5,}", secret))
    assert json.loads(as_json.stdout)["rejected"] == {"incomplete_record": 9}


def test_more_examples_than_there_are(call: Call, logs: Path) -> None:
    result = call("parse-log", logs / "broker-2026-11-18.log.gz", "--rejected", "99")
    assert result.stderr == ""


def test_an_empty_log_holds_nothing(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    empty = {"lines": 0, "records": 0, "queries": 0, "other": {}, "rejected": {}}
    assert counted(call, tmp_path / "empty.log") == empty
    assert counted(call, tmp_path) == empty


@pytest.mark.parametrize("keep", [30_000, 20, 11])
def test_a_truncated_log_counts_what_came_before(keep: int, call: Call, logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.log.gz"
    path.write_bytes((logs / "broker-2026-11-18.log.gz").read_bytes()[:keep])
    found = counted(call, path)
    assert found["rejected"] == {"truncated_file": 1}
    assert (found["queries"] > 500) == (keep > 1_000)


def test_a_reader_that_goes_away_is_no_error(logs: Path) -> None:
    pipe = f"'{Path(sys.executable).with_name('starskip')}' parse-log '{logs}' | true"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
