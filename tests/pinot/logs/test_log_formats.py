"""Formats of users' modules: lines, wrappers, both together, and modules that are wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import ConfigError, SourceError
from starskip.pinot.logs.log_formats import log_formats
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split

LINES = """
from starskip.pinot.logs.line_template import line_format

FORMATS = (
    line_format(
        "proxy-1",
        "proxy rid=<request_id> on=<table> ms=<latency_ms> docs=<rows_scanned>/<rows_total>"
        " scanned=<entries_scanned_in_filter>+<entries_scanned_post_filter> user=<word> sql=<query_text>",
        sample="proxy rid=7 on=orders ms=12 docs=3/1000 scanned=400+6 user=ann sql=SELECT 1 FROM orders",
    ),
)
"""
WRAPPER = '''
from starskip.pinot.logs.log_formats import Message


def pipes(line):
    """Take off what the collector writes: time|host|text."""
    if line.count("|") < 2:
        return None
    time, host, text = line.split("|", 2)
    return Message(text.replace("<nl>", "\\n"), time, host)


WRAPPERS = (pipes,)
'''
PROXY = "proxy rid={} on=orders ms=12 docs=3/1000 scanned=400+6 user=ann sql={}"
PINOT = "requestId={},table=orders,timeMs=12,docs=3/1000,entries=400/6,exceptions=0,query={}"
TIME = "2026-11-18T08:45:08Z"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Write a module of this text, under a name of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def written(text: str) -> str:
        names.append(f"formats_of_test_{len(names)}")
        (tmp_path / f"{names[-1]}.py").write_text(text)
        return names[-1]

    yield written
    log_formats.cache_clear()
    for name in names:
        sys.modules.pop(name, None)


def read(folder: Path, text: str, *modules: str, split_bytes: int = 1 << 20) -> list[dict[str, Any]]:
    path = folder / "broker.log"
    path.write_text(text)
    splits = log_splits([str(path)], split_bytes, "", tuple(modules))
    return [row for split in splits for batch in parse_split(split) for row in batch.to_pylist()]


@pytest.mark.parametrize("start", ["", "2026/11/18 08:45:08.326 INFO [proxy] [t-1] "])
@pytest.mark.parametrize("split_bytes", [1 << 20, 300])
def test_lines_of_a_users_format(
    tmp_path: Path, module: Callable[[str], str], start: str, split_bytes: int
) -> None:
    """Beside those of Pinot, on several lines, and however the file is cut."""
    name = module(LINES)
    queries = ["SELECT a\nFROM orders", "SELECT b FROM orders WHERE c = 'x, sql=y'", "SELECT 1 FROM orders"]
    lines = [start + PROXY.format(n, queries[n % 3]) for n in range(9)] + [
        start + PINOT.format(9, queries[0])
    ]
    rows = read(tmp_path, "\n".join(lines) + "\n", name, split_bytes=split_bytes)
    assert [(row["request_id"], row["query_text"]) for row in rows] == [
        (n, queries[n % 3]) for n in range(10)
    ]
    assert [row["line_format"] for row in rows] == ["proxy-1"] * 9 + ["later"]
    assert {(row["kind"], row["table"], row["entries_scanned_in_filter"]) for row in rows} == {
        ("query", "orders", 400)
    }
    if start:
        assert {row["kind"] for row in read(tmp_path, "\n".join(lines[:9]))} <= {"rejected", "other"}


def test_a_users_wrapper(tmp_path: Path, module: Callable[[str], str]) -> None:
    """Its time and its sources count, and a line that it is not around stays."""
    first, last = PINOT.format(1, "SELECT a"), PINOT.format(3, "SELECT c<nl>FROM orders")
    lines = [
        f"{TIME}|b1|{first}",
        f"{TIME}|b2|{PINOT.format(2, 'SELECT b')}",
        f"{TIME}|b1|FROM orders",
        f"{TIME}|b1|{last}",
        f"2026-11-18 09:00:00 {PINOT.format(4, 'SELECT d FROM orders')}",
    ]
    rows = read(tmp_path, "\n".join(lines) + "\n", module(WRAPPER))
    assert [(row["request_id"], row["query_text"]) for row in rows] == [
        (1, "SELECT a\nFROM orders"),
        (2, "SELECT b"),
        (3, "SELECT c\nFROM orders"),
        (4, "SELECT d FROM orders"),
    ]
    assert [row["logged_at"].hour for row in rows] == [8, 8, 8, 9]
    assert [row["wrappers"] for row in rows] == ["pipes"] * 3 + [None]


def test_a_wrapper_around_lines_of_a_users_format(tmp_path: Path, module: Callable[[str], str]) -> None:
    lines = "".join(f"{TIME}|b1|{PROXY.format(n, 'SELECT 1 FROM orders')}\n" for n in range(3))
    for modules in ([LINES, WRAPPER], [WRAPPER + LINES]):
        rows = read(tmp_path, lines, *map(module, modules))
        assert [(row["line_format"], row["wrappers"]) for row in rows] == [("proxy-1", "pipes")] * 3


EVENTS = """
import csv, json

def rows(line):
    (row,) = csv.reader([line])
    if len(row) == 4:
        yield json.dumps({"query": row[3], "queryProcessingDuration": row[1], "time": row[0],
                          "scannedEntriesInFilterCount": row[2], "scannedEntriesPostFilterCount": 0})

WRAPPERS = [rows]
"""


def test_a_wrapper_may_make_json_events_of_lines_of_any_form(
    tmp_path: Path, module: Callable[[str], str]
) -> None:
    lines = [f'{TIME},12,{n},"SELECT a, b FROM orders WHERE c = {n}"' for n in range(3)]
    rows = read(tmp_path, "\n".join(["time,ms,entries", *lines]), module(EVENTS))
    assert [row["entries_scanned_in_filter"] for row in rows] == [0, 1, 2]
    assert {(row["table"], row["latency_ms"], row["logged_at"].hour) for row in rows} == {("orders", 12, 8)}
    assert sum(row["source_lines"] for row in rows) == 4


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("1 / 0", "line 3: wrong raised ZeroDivisionError"),
        ("7", "wrong raised TypeError"),
        ("['a'] * 10_001", "wrong returned over 10,000 lines"),
        ("[7]", "wrong returned int"),
        ("b'requestId=1'", "wrong returned int"),
        ("{'a': 1}['b']", "line 3: wrong raised KeyError"),
        ("exit(3)", "line 3: wrong raised SystemExit"),
        ("Message('a', 'noon')", "wrong returned a time that is none"),
        ("Message(7)", "wrong returned Message"),
        (r"'\ud800'", "wrong raised UnicodeEncodeError"),
        ("iter(lambda: 1 / 0, 1)", "line 3: wrong raised ZeroDivisionError"),
    ],
)
def test_a_line_that_a_wrapper_fails_on_is_rejected(
    tmp_path: Path, module: Callable[[str], str], returned: str, words: str
) -> None:
    text = "from starskip.pinot.logs.log_formats import Message\ndef wrong(line):\n"
    text += f"    return {returned} if 'bad' in line else None\nWRAPPERS = [wrong]\n"
    name = module(text)
    lines = [f"2026-11-18 09:00:00 {PINOT.format(n, 'SELECT 1 FROM orders')}" for n in range(3)]
    rows = read(tmp_path, "\n".join([*lines[:2], "2026-11-18 09:00:00 bad line", lines[2]]), name)
    assert [row["kind"] for row in rows] == ["query", "query", "rejected", "query"]
    assert rows[2]["reason"] == "format_failed"
    assert rows[2]["line_format"].startswith(f"module {name}")
    assert rows[2]["line_format"].endswith(words)
    assert rows[2]["query_text"] == "2026-11-18 09:00:00 bad line"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has neither a tuple FORMATS nor a tuple WRAPPERS with something in it"),
        ("FORMATS = 'proxy'", "FORMATS is str, not a tuple"),
        ("FORMATS = ('proxy',)", "FORMATS holds str, not what line_format returns"),
        ("WRAPPERS = ('proxy',)", "WRAPPERS holds str, not a function of a line"),
        ("def f(x): return x\nWRAPPERS = f", "WRAPPERS is function, not a tuple"),
        ("FORMATS = (", "cannot be imported: SyntaxError"),
        ("x = 1\ny = x / 0", "cannot be imported: line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(4)", "cannot be imported: line 1: SystemExit: 4"),
        ("import no_such_module_here", "cannot be imported: line 1: ModuleNotFoundError"),
        (LINES.replace("<word>", "<ward>"), "ValueError: a template has no field <ward>"),
        (LINES.replace("sample=", "sample=7 or "), "format 'proxy-1': its name and its sample are texts"),
        (LINES.replace("rid=7", "id=7"), "format proxy-1 does not fit its own sample"),
        (LINES.replace("proxy rid=", r"{\"rid\": "), "format proxy-1 is JSON, which no template reads"),
        (LINES.replace("<table>", "<word>"), "format proxy-1 has no <table>"),
        (LINES.replace("proxy-1", "1.4.0"), "format 1.4.0 has the name of another format"),
        (LINES + "FORMATS += FORMATS", "format proxy-1 has the name of another format"),
        (
            LINES + "FORMATS += (line_format('x', '<any_text>', sample='proxy', reason='y'),)",
            "fit the same lines",
        ),
    ],
)
def test_a_module_that_is_wrong(module: Callable[[str], str], text: str, words: str) -> None:
    name = module(text)
    with pytest.raises(SourceError, match=f"module '{name}' of log formats") as raised:
        log_formats((name,))
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_a_module_that_is_not_found() -> None:
    with pytest.raises(
        ConfigError, match="'no_such_formats' of log formats cannot be imported: Python finds"
    ):
        log_formats(("no_such_formats",))
    with pytest.raises(ConfigError, match=r"leave \.py out"):
        log_formats(("no_such_formats.py",))
