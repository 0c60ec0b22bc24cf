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
    assert list(document) == ["lines", "records", "queries", "other", "rejected", "wrapped"]
    parts = document["queries"] + sum(document["other"].values()) + sum(document["rejected"].values())
    assert document["lines"] >= document["records"] == parts
    return document


@pytest.mark.parametrize("day", DAYS)
def test_a_day_of_the_sample(day: str, call: Call, logs: Path) -> None:
    found = counted(call, logs / f"broker-2026-11-{day}.log.gz")
    assert found["rejected"] == {}
    assert {**found, "other": sum(found["other"].values())} == {**DAYS[day], "rejected": {}, "wrapped": {}}


def test_the_installed_command_prints_one_document_and_nothing_else(installed: Call, logs: Path) -> None:
    done = installed("parse-log", logs / "broker-2026-11-18.log.gz", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "lines": 1742,
        "records": 1494,
        "queries": 1486,
        "other": {"table_not_found": 5, "unknown_column": 3},
        "rejected": {},
        "wrapped": {},
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
    empty = {"lines": 0, "records": 0, "queries": 0, "other": {}, "rejected": {}, "wrapped": {}}
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


def test_standard_input_is_a_log_and_tells_its_wrapper(installed: Call, line: Call) -> None:
    text = "".join(f"[pod/broker-0/broker] {line('SELECT a FROM t', 5)}" for _ in range(3))
    done = installed("parse-log", "-", "--format", "json", input=text)
    document = json.loads(done.stdout)
    assert (done.returncode, document["queries"], document["wrapped"]) == (0, 3, {"kubectl": 3})
    assert "           3 unwrapped: kubectl" in installed("parse-log", "-", input=text).stdout


def test_the_field_of_the_message_can_be_named(call: Call, tmp_path: Path, line: Call) -> None:
    wrong, right = ([line(f"SELECT {name} FROM t", n)] for n, name in ((1, "a"), (2, "b")))
    document = {"message": wrong[0] * 1, "data": {"payload": right[0].rstrip()}}
    (tmp_path / "shipped.log").write_text((json.dumps(document) + "\n") * 4, encoding="utf-8")
    named = ("--message-field", "data.payload")
    result = call("parse-log", tmp_path / "shipped.log", "--format", "json", *named)
    assert json.loads(result.stdout)["wrapped"] == {"json:data.payload": 4}


STRANGE = '{"data": "request 7 read lineitem", "n": 1}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (STRANGE * 9, "not_a_query: 9"),
        ("2026/11/18 08:45:08.326 INFO [Server] [t] started\n" * 9, "not_a_query: 9"),
        ("2026/11/18 08:45:08.326 | QueryLogger | requestId=1\n" * 9, "unknown_format: 9"),
    ],
)
def test_a_log_that_is_not_understood_is_told(call: Call, tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "strange.log").write_text(content, encoding="utf-8")
    result = call("parse-log", tmp_path / "strange.log", "--format", "json")
    assert json.loads(result.stdout)["queries"] == result.exit_code == 0
    assert f"9 of 9 records of the log are not understood ({reason})" in result.stderr


def test_messages_of_others_among_queries_and_failed_queries_are_understood(
    call: Call, tmp_path: Path, line: Call
) -> None:
    start = "2026/11/18 08:45:08.326 INFO [Broker] [t] "
    others = f"{start}started\n" * 50
    failed = f"{start}Table not found for request 36044: SELECT COUNT(*) FROM airlineStat\n"
    for name, content in (("quiet", others + line("SELECT 1 FROM t", 5)), ("failed", others + failed)):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert call("parse-log", tmp_path / name).stderr == ""
