"""Queries that Pinot's master logs on one line since September 2026, and older ones with real backslashes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.pinot.logs.escaped_query import as_sent
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.parse_records import parse_records
from wrapped_logs import MESSAGE, PINOT

NEW = MESSAGE.replace("query=", "queryEngine=singleStage,workloadName=default,query=")
NEWEST = NEW.replace("query=", "approximatedResult=false,query=")
FIELDS = b"requestId=1,table=t,workloadName=default,"


def escaped(text: str) -> str:
    """Escape as the broker does."""
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


def parsed(text: str) -> dict[str, Any]:
    record = LogRecord(0, text.count("\n") + 1, text.encode(), None)
    (row,) = next(parse_records([record], "broker.log")).to_pylist()
    return row


@given(text=st.text(alphabet="a'\"\\\n\rnr-*/ ", max_size=30))
@example(text="a\nFROM t WHERE b = '\\d+\\\\' -- it's\n AND c = '\\n'")
def test_lines_of_the_new_release_are_read_as_they_were_sent(text):
    assert as_sent(escaped("SELECT " + text).encode(), FIELDS) == b"SELECT " + text.encode()


_LITERAL = st.text(alphabet='\\nrd+x -/*"', max_size=8).map("'{}'".format)
_NAME = st.text(alphabet="\\nab", min_size=1, max_size=6).map('"{}"'.format)
_OUTSIDE = st.sampled_from([" ", "\n", "SELECT", "a", "=", "(", ")", ",", "/* n */", "'it''s'", " -- x\n"])


@given(parts=st.lists(_LITERAL | _NAME | _OUTSIDE, max_size=12))
def test_lines_of_an_older_release_keep_their_backslashes(parts):
    text = "".join(parts)
    assert as_sent(text.encode(), b"requestId=1,table=t,clientIp=unknown,") == text.encode()


@given(parts=st.lists(_LITERAL | _NAME | _OUTSIDE, max_size=12))
def test_an_escape_outside_all_quotes_shows_that_the_text_is_escaped(parts):
    text = f"SELECT a\nFROM t WHERE {''.join(parts)}"
    assert as_sent(escaped(text).encode()) == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE REGEXP_LIKE(a, '\\\\d+\\\\n')",
        "SELECT a FROM t WHERE a = 'C:\\new\\readme'",
        "SELECT a FROM t -- C:\\dir",
        "SELECT a FROM t WHERE a = '\\'",
        "SELECT a\nFROM t WHERE a = '\\n' AND \\n",
        "SELECT a FROM t WHERE \\d",
    ],
)
def test_real_backslashes(text):
    assert parsed(PINOT.format(1) + MESSAGE.format(1, text))["query_text"] == text


TEXT = "-- a dashboard's\nSELECT COUNT(*)\r\nFROM t WHERE REGEXP_LIKE(a, '\\d+\\\\') AND b = 'x\ny'"


@pytest.mark.parametrize("message", [NEW, NEWEST, MESSAGE])
def test_a_record_tells_the_text_and_the_length_that_was_logged(message):
    row = parsed(PINOT.format(1) + message.format(1, escaped(TEXT)))
    assert (row["query_text"], row["query_text_length"]) == (TEXT, len(escaped(TEXT)))


def test_one_line_with_backslashes_in_literals_alone_follows_the_release():
    text = "SELECT a FROM t WHERE REGEXP_LIKE(a, '\\d+')"
    assert parsed(PINOT.format(1) + NEW.format(1, escaped(text)))["query_text"] == text
    assert parsed(PINOT.format(1) + MESSAGE.format(1, escaped(text)))["query_text"] == escaped(text)


@pytest.mark.parametrize("text", ["SELECT a\\nFROM t\\", "\\n\\\\", "REDACTED\\n"])
def test_what_is_no_whole_sql_stays_as_it_is(text):
    assert as_sent(text.encode(), FIELDS) == text.encode()


def test_events_and_messages_without_counters():
    event = {
        "query": escaped("SELECT a\nFROM u"),
        "queryProcessingDuration": 9,
        "scannedEntriesInFilterCount": 5,
        "scannedEntriesPostFilterCount": 0,
    }
    row = parsed(json.dumps(event))
    assert (row["query_text"], row["table"]) == ("SELECT a\nFROM u", "u")
    plain = {**event, "query": "SELECT a FROM u WHERE b = '\\\\n'"}
    assert parsed(json.dumps(plain))["query_text"] == plain["query"]
    before = parsed(PINOT.format(1) + "SQL query for request 7: " + escaped(TEXT))
    assert (before["reason"], before["query_text"].partition(": ")[2]) == ("sql_before_query", TEXT)
    rejected = parsed(PINOT.format(1) + NEW.format(1, escaped(TEXT)).replace("docs=", "dogs="))
    assert (rejected["reason"], rejected["query_text"].partition(",query=")[2]) == ("incomplete_record", TEXT)
