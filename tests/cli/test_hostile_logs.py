"""Files that are not what a log should be: counted, set aside with a reason, the rest goes on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

LINE = (
    b"2018/10/01 00:00:00.000 INFO [BaseBrokerRequestHandler] [jersey-1] RequestId:7, table:t_OFFLINE, "
    b"timeMs:8, docs:10/99, entries:5/80, servers:1/1, exceptions:0, serverStats:h_O=0,0,0,7, "
    b"query:select count(*) from t where a = 'x'\n"
)
EVENT = (
    b'{"query": "SELECT COUNT(*) FROM t WHERE a = 7", "queryProcessingDuration": 9, '
    b'"scannedEntriesInFilterCount": 5, "scannedEntriesPostFilterCount": 0}\n'
)
NUMBERS = (
    b"NaN",
    b"-Infinity",
    b"-1",
    b"1e400",
    b"99999999999999999999",
    b'"x"',
    b"[1]",
    b"{}",
    b"false",
    b"0.5",
)

# Members of one gzip: to compress 64 MiB would cost each process half a second before its first test.
_BOMB = gzip.compress(b'{"a": 1,"b":"') + gzip.compress(b" " * (1 << 20)) * 64

FILES: dict[str, tuple[bytes, int, dict[str, int]]] = {
    "bomb.json.gz": (_BOMB, 0, {"compression_bomb": 1}),
    "line.log": (LINE[:-1] + b"x" * (5 << 20) + b"\n" + LINE, 1, {"too_long": 1}),
    "deep.json": (b'{"query": ' + b"[" * 1_000_000 + b"\n" + EVENT, 1, {"bad_json": 1}),
    "twice.json": (b'{"query": "SELECT 1 FROM u", ' + EVENT[1:] + EVENT, 1, {"repeated_field": 1}),
    "numbers.json": (
        b"".join(EVENT.replace(b": 5", b": " + n) for n in NUMBERS) + EVENT,
        1,
        {"bad_counter": len(NUMBERS)},
    ),
    "types.json": (
        EVENT.replace(b'"SELECT COUNT(*) FROM t WHERE a = 7"', b"7")
        + EVENT.replace(b": 9", b": null")
        + EVENT,
        1,
        {"incomplete_event": 2},
    ),
    "surrogates.json": (
        EVENT.replace(b"= 7", rb"= '\ud800'") + EVENT.replace(b"FROM t", rb"FROM t\udc00"),
        2,
        {},
    ),
    "crlf.log": ((LINE * 2).replace(b"\n", b"\r\n"), 2, {}),
    "bom.log": (b"\xef\xbb\xbf" + LINE * 2, 2, {}),
    "bom.json": (b"\xef\xbb\xbf" + EVENT, 1, {}),
    "utf16.log": ((LINE * 2).decode().encode("utf-16"), 0, {"unknown_file_format": 1}),
    "utf16le.json": (EVENT.decode().encode("utf-16-le"), 0, {"unknown_file_format": 1}),
    "cut.log.gz": (gzip.compress(LINE * 3, 0)[:-50], 2, {"truncated_file": 1}),
    "negative.log": (LINE + LINE.replace(b"entries:5", b"entries:-5"), 1, {"bad_counter": 1}),
    "scalars.json": (b"5\nnull\n[1, 2]\n", 0, {"no_record_start": 1}),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_counted_and_set_aside(call: Call, tmp_path: Path, name: str) -> None:
    content, queries, rejected = FILES[name]
    (tmp_path / name).write_bytes(content)
    result = call("parse-log", tmp_path / name, "--format", "json", "--rejected", "3")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["queries"], document["rejected"]) == (0, queries, rejected)
    assert document["lines"] >= document["records"] == queries + sum(rejected.values())
    assert all(line.isprintable() for line in result.stderr.splitlines())


def test_hostile_files_beside_a_log_leave_its_queries_to_the_quantile_report(
    call: Call, tmp_path: Path
) -> None:
    for name, (content, _, _) in FILES.items():
        (tmp_path / name).write_bytes(content)
    result = call("quantile-report", "--log", tmp_path, "--tables", "t", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["tables"]["t"]["queries"] == sum(
        queries for _, queries, _ in FILES.values()
    )
    for reason in ("bad_counter", "compression_bomb", "truncated_file", "unknown_file_format"):
        assert f"log records rejected: {reason}" in result.stderr
