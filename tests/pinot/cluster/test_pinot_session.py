"""Faults of what answers in Pinot's place: each is one line, and what changes something is never repeated.

A real Pinot gives none of them when it is asked to.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from free_ports import free_port
from starskip.errors import (
    AccessRefused,
    ConfigError,
    MissingSource,
    SourceError,
    SourceOutage,
    StarskipError,
    UnknownOutcome,
    UnsupportedQuery,
)
from starskip.pinot.cluster import pinot_session
from starskip.pinot.cluster.open_cluster import PinotCluster, open_cluster
from starskip.pinot.cluster.pinot_address import PinotAddress
from starskip.pinot.cluster.pull_table import PullBounds
from starskip.pinot.cluster.pull_tables import pull_tables
from starskip.pinot.replay_mark import REPLAY_OPTIONS, is_marked, marked

SECRET = "Basic c2VjcmV0"
JSON = "application/json"


class Answering:
    """A server that answers as it is told, a status of 0 by closing the connection, and keeps requests."""

    def __init__(self, port: int) -> None:
        self.answers: list[tuple[int, str, str]] = []
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        told = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                told.asked.append((self.command, self.path, headers, body))
                status, kind, text = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
                if not status:
                    self.connection.close()
                    return
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PUT = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    monkeypatch.setattr(pinot_session, "_LONGEST_WAIT_SECONDS", 0.01)
    server = Answering(free_port())
    running = threading.Thread(target=server.server.serve_forever, args=(0.01,))
    running.start()
    yield server
    server.server.shutdown()
    running.join()
    server.server.server_close()


@pytest.fixture
def cluster(answering: Answering) -> Iterator[PinotCluster]:
    url = f"http://127.0.0.1:{answering.server.server_port}"
    with open_cluster(PinotAddress(url, "", SECRET, "", "db", timeout_seconds=5)) as found:
        yield found


def test_requests_carry_credentials_and_the_database(answering: Answering, cluster: PinotCluster) -> None:
    answering.answers = [(200, JSON, '{"tables": ["b", "a"]}')]
    assert cluster.controller.tables() == ("a", "b")
    ((_, path, headers, _),) = answering.asked
    assert (path, headers["authorization"], headers["database"]) == ("/tables", SECRET, "db")
    assert SECRET not in repr(cluster)


@pytest.mark.parametrize("passing", [0, 429, 502, 503, 504])
def test_reading_is_repeated_until_it_passes(
    answering: Answering, cluster: PinotCluster, passing: int
) -> None:
    answering.answers = [(passing, JSON, "{}"), (passing, JSON, "{}"), (200, JSON, '{"tables": []}')]
    assert cluster.controller.tables() == ()
    assert len(answering.asked) == 3


@pytest.mark.parametrize("fault", [0, 500, 502, 503, 504])
def test_a_change_is_never_repeated(answering: Answering, cluster: PinotCluster, fault: int) -> None:
    answering.answers = [(fault, JSON, '{"code": 500, "error": "ZooKeeper"}')]
    with pytest.raises(UnknownOutcome, match="it may have been carried out or not"):
        cluster.controller.put_table_config("t_OFFLINE", {})
    assert len(answering.asked) == 1


@pytest.mark.parametrize("reading", [True, False])
def test_nobody_who_listens_is_an_outage(monkeypatch: pytest.MonkeyPatch, reading: bool) -> None:
    monkeypatch.setattr(pinot_session, "_LONGEST_WAIT_SECONDS", 0.01)
    with open_cluster(PinotAddress(f"http://127.0.0.1:{free_port()}")) as cluster:
        with pytest.raises(SourceOutage, match="does not answer") as error:
            _ = cluster.controller.tables() if reading else cluster.controller.reload("t_OFFLINE")
        assert not isinstance(error.value, UnknownOutcome), "nothing was sent"


@pytest.mark.parametrize(
    ("status", "kind", "text", "error", "words"),
    [
        (401, JSON, "{}", AccessRefused, "the credentials are wrong, or have not the right GetTable"),
        (403, JSON, "{}", AccessRefused, "the credentials are wrong, or have not the right GetTable"),
        (404, JSON, '{"code": 404, "error": "no\\nsuch"}', MissingSource, "answers 404: no$"),
        (302, "text/html", "<a>", SourceError, "no login page before it"),
        (200, "text/html", " <html>secret</html>", SourceError, "no login page before it"),
        (200, JSON, "[1]", SourceError, "answers no JSON object"),
        (200, JSON, "not JSON", SourceError, "answers no JSON object"),
        (400, JSON, '{"error": "Invalid {\\"password\\": 1}"}', SourceError, "answers 400: Invalid$"),
        (400, "text/html", "<b>oops</b>", SourceError, "answers 400 and no JSON"),
        (500, JSON, '{"error": "\\u001b[31mred"}', SourceOutage, r"answers 500: \\x1b\[31mred$"),
    ],
)
def test_each_fault_is_one_line(
    answering: Answering,
    cluster: PinotCluster,
    status: int,
    kind: str,
    text: str,
    error: type[StarskipError],
    words: str,
) -> None:
    answering.answers = [(status, kind, text)]
    with pytest.raises(error, match=words) as told:
        cluster.controller.tables()
    assert type(told.value) is error
    assert SECRET not in str(told.value)
    assert "secret" not in str(told.value)


def test_a_refusal_names_the_right(answering: Answering, cluster: PinotCluster) -> None:
    answering.answers = [(403, JSON, "{}")]
    with pytest.raises(AccessRefused) as error:
        cluster.controller.put_table_config("t_OFFLINE", {})
    assert error.value.right == "UpdateTableConfig (UPDATE)"


def test_an_answer_without_end_is_refused(
    answering: Answering, cluster: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinot_session, "MAX_ANSWER_BYTES", 10)
    answering.answers = [(200, JSON, json.dumps(["x" * 100]))]
    with pytest.raises(SourceError, match="answers more than"):
        cluster.controller.tables()


def test_names_stay_within_their_part_of_the_path(answering: Answering, cluster: PinotCluster) -> None:
    answering.answers = [(404, JSON, "{}")]
    with pytest.raises(MissingSource):
        cluster.controller.table_configs("a/../b ?c")
    assert answering.asked[0][1] == "/tables/a%2F..%2Fb%20%3Fc"


def test_a_file_of_certificates_must_be_one(tmp_path: Any) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    for each in (file, tmp_path / "none.pem"):
        with (
            pytest.raises(ConfigError, match="no readable file of certificates"),
            open_cluster(PinotAddress("https://h", ca_file=str(each))),
        ):
            pass


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.b", "ü_x.net"])
def test_a_name_that_no_host_can_have_is_a_wrong_setting(host: str) -> None:
    with (
        pytest.raises(ConfigError, match="holds no name that a host can have"),
        open_cluster(PinotAddress(f"http://{host}:9000")) as cluster,
    ):
        cluster.controller.tables()


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://ann:secret@h:1", "httpx.socks"),
        ("ftp://ann:secret@h:1", "scheme"),
        ("http://ann:secret/@h:1", "no URL"),
    ],
)
def test_a_wrong_proxy_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch, proxy: str, words: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with (
        pytest.raises(ConfigError, match=f"a proxy of the environment.*{words}") as error,
        open_cluster(PinotAddress("http://h")),
    ):
        pass
    assert "secret" not in str(error.value)


def test_a_table_that_vanishes_while_it_is_pulled_leaves_nothing_aside(
    answering: Answering, cluster: PinotCluster, tmp_path: Path
) -> None:
    config = {"tableName": "t_OFFLINE", "tableType": "OFFLINE"}
    told = [{"tables": ["t"]}, {"OFFLINE": config}, {}, {}]
    answering.answers = [*((200, JSON, json.dumps(each)) for each in told), (404, JSON, "{}")]
    pulled = pull_tables(cluster, tmp_path, (), PullBounds(1, 1), lambda _, items: items)
    assert isinstance(pulled.failures["t"], MissingSource)
    assert list((tmp_path / "segments").iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "SELECT 1",
        "  -- a; b\n /* DROP */ SET a = 'x;y'; SET b=1; SELECT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "EXPLAIN PLAN FOR SELECT 1",
    ],
)
def test_queries_are_sent(answering: Answering, cluster: PinotCluster, sql: str) -> None:
    answering.answers = [(200, JSON, "{}")]
    cluster.broker.ask(sql, {"useStarTree": False, "skipIndexes": "a=inverted,range&b=inverted"})
    body = json.loads(answering.asked[0][3])
    assert body["sql"] == f"SET skipIndexes = 'a=inverted,range&b=inverted'; {sql}"
    assert body["queryOptions"] == "useStarTree=false;timeoutMs=10000"


def test_a_replay_is_known_by_its_start_whatever_options_it_has(
    answering: Answering, cluster: PinotCluster
) -> None:
    answering.answers = [(200, JSON, "{}")]
    cluster.broker.ask(marked("SELECT 1"), {**REPLAY_OPTIONS, "skipIndexes": "it's=inverted"})
    sent = json.loads(answering.asked[0][3])["sql"]
    assert is_marked(sent.encode())
    assert sent == "/* starskip: replay */ SET skipIndexes = 'it''s=inverted'; SELECT 1"


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "INSERT INTO t FROM FILE 's3://x'",
        "-- SELECT\nDROP TABLE t",
        "SET a = 'SELECT'; DELETE FROM t",
        "/* SELECT 1",
        "SELECTED",
        "EXPLAIN ANALYZE",
    ],
)
def test_anything_but_a_query_is_not_sent(answering: Answering, cluster: PinotCluster, sql: str) -> None:
    with pytest.raises(UnsupportedQuery):
        cluster.broker.ask(sql)
    assert answering.asked == []


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ('{"exceptions": [{"errorCode": 180, "message": "x"}]}', AccessRefused, "answers error 180"),
        ('{"exceptions": [{"errorCode": 190, "message": "x"}]}', MissingSource, "answers error 190"),
        ('{"exceptions": [{"errorCode": 427, "message": "a\\nb"}]}', SourceOutage, "error 427: a$"),
        ('{"exceptions": [{"errorCode": 150, "message": "SQL"}]}', SourceError, "error 150: SQL"),
        ('{"partialResult": true}', SourceOutage, "partial"),
        ('{"numServersQueried": 2, "numServersResponded": 1}', SourceOutage, "1 of 2 servers"),
        ('{"numGroupsLimitReached": true}', SourceOutage, "groups beyond"),
        ("ProcessingException(errorCode:180, message:secret)", AccessRefused, "answers error 180"),
        ("ProcessingException(errorCode:150, message:secret)", SourceError, "error 150"),
        ("[]", SourceError, "answers no JSON object"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(
    answering: Answering, cluster: PinotCluster, answer: str, error: type[StarskipError], words: str
) -> None:
    answering.answers = [(200, JSON, answer)]
    with pytest.raises(error, match=words) as told:
        cluster.broker.whole("SELECT 1")
    assert type(told.value) is error
    assert "secret" not in str(told.value)
