"""The lifecycle of metadata in a real OpenSearch: writers at once, lost answers, a server that is killed.

STARSKIP_OPENSEARCH_COMMITS is during how many commits the server is killed and started again at random.
"""

from __future__ import annotations

import base64
import logging
import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from law_cases import law_cases
from nginx_in_front import PASSWORD, USER, nginx_in_front
from opensearch_tables import fresh_storage
from patiently import patiently
from running_opensearch import RunningOpenSearch
from starskip.errors import StorageError, StorageOutage
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import metadata_chain, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.secondary.lifecycle import index_storage
from starskip.skipping.build_clause import build_clause
from starskip.storage.storage import PutVerdict
from starskip.storage.store_clock import PROBES, store_clock
from starskip_opensearch import opensearch_client
from starskip_opensearch.opensearch_client import OpenSearchClient
from starskip_opensearch.opensearch_storage import OpenSearchStorage

COMMITS = law_cases("STARSKIP_OPENSEARCH_COMMITS", 4)
WRITERS, COMMITS_OF_EACH = 16, 2
SEED = int(os.environ.get("STARSKIP_OPENSEARCH_SEED", random.SystemRandom().randrange(1 << 32)))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900 + 30 * COMMITS)]


def all_documents(storage: OpenSearchStorage) -> int:
    """Count the documents of a table's rows and objects, and all pieces."""
    found = 0
    for index in (storage.url.rows, storage.url.pieces):
        storage.documents.refresh(index)
        answer = storage.documents.search(index, {"size": 0, "track_total_hits": True}, "hits.total")
        found += answer["hits"]["total"]["value"] if answer else 0
    # Empty objects by which the clock is read, left by whoever is killed then, are no metadata.
    return found + sum(not each.name.startswith(PROBES) for each in storage.objects_below(""))


def test_objects_are_put_once_and_listed(search_server: RunningOpenSearch) -> None:
    storage = fresh_storage(search_server)
    large = random.Random(1).randbytes(5_000_000)
    assert list(storage.objects_below("")) == [] and storage.read("a/b") is None
    assert storage.put_if_absent("a/b", b"one") is PutVerdict.STORED
    assert storage.put_if_absent("a/b", b"two") is PutVerdict.ALREADY_EXISTS
    assert storage.put_if_absent("a/c/large", large) is PutVerdict.STORED
    assert storage.put_if_absent("a/c/large", b"x" + large) is PutVerdict.ALREADY_EXISTS
    assert storage.put_if_absent("b", b"") is PutVerdict.STORED
    assert (storage.read("a/b"), storage.read("b")) == (b"one", b"")
    assert storage.read("a/c/large") == large
    assert storage.arrow_filesystem().open_input_file("a/b").read() == b"one"
    assert [(each.name, each.size_bytes) for each in storage.objects_below("a")] == [
        ("a/b", 3),
        ("a/c/large", len(large)),
    ]
    assert storage.folders_in("") == ("a",) and storage.folders_in("a") == ("c",)
    assert abs(store_clock(storage).timestamp() - time.time()) < 5
    before = all_documents(storage)
    storage.delete("a/c/large")
    storage.delete("gone")
    assert storage.read("a/c/large") is None
    assert all_documents(storage) == before - 1 - 3
    storage.documents.write(
        storage.url.objects,
        (
            (
                f"{storage.url.table}/many/{number:04d}",
                {"table": storage.url.table, "name": f"many/{number:04d}", "size_bytes": 0, "modified_ms": 1},
            )
            for number in range(1_001)
        ),
    )
    storage.documents.refresh(storage.url.objects)
    assert len(list(storage.objects_below("many"))) == 1_001


def test_the_whole_lifecycle(lake: Any, search_server: RunningOpenSearch, table: Any) -> None:
    storage = fresh_storage(search_server)
    assert read_metadata(storage) is None
    table.refresh(storage, "x", "y")
    assert lake.known(storage) == lake.expected(table.files, "x", "y")
    table.files["file:/t/a"] = lake.File((1, 2), version=1)
    table.files["file:/t/e"] = lake.File(())
    del table.files["file:/t/c"]
    table.refresh(storage)
    table.refresh(storage, "z")
    change_indexes(storage, ["minmax:y"], lake.commit(), active=False)
    assert lake.known(storage) == lake.expected(table.files, "x", "z")
    change_indexes(storage, None, lake.commit(), active=True)
    optimize_metadata(storage, lake.commit())
    change_indexes(storage, ["minmax:y"], lake.commit(), active=False)
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert lake.known(storage) == lake.expected(table.files, "x", "z")
    metadata = read_metadata(storage)
    assert metadata is not None and len(metadata.segments) == 1
    clause = build_clause(metadata.indexes, [_equal("x", 100)], {})
    assert clause is not None
    assert metadata.may_match(clause).tolist() == clause.may_match(metadata).tolist()
    change_indexes(storage, None, lake.commit(), active=False)
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    storage.documents.refresh(storage.url.rows)
    rows = storage.documents.search(storage.url.rows, {"size": 1}, "hits.hits._id")
    assert not rows and [each for each in storage.objects_below("") if each.name.endswith(".rows")] == []


@contextmanager
def killed_at(request: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End the block at that request, and at all that follow it."""
    once = OpenSearchClient._once
    sent: list[str] = []

    def failing(client: OpenSearchClient, method: str, *arguments: Any) -> Any:
        sent.append(method)
        if len(sent) >= request:
            raise StorageError("killed", location="here")
        return once(client, method, *arguments)

    with monkeypatch.context() as patched, suppress(StorageError):
        patched.setattr(OpenSearchClient, "_once", failing)
        yield


def test_what_a_killed_writer_left_is_vacuumed(
    lake: Any, search_server: RunningOpenSearch, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = fresh_storage(search_server)
    table.refresh(storage, "x")
    before = all_documents(storage)
    known = lake.known(storage)
    for number in range(1, 60):
        table.files["file:/t/b"] = lake.File((number,), version=number)
        with killed_at(number, monkeypatch):
            table.refresh(storage)
            break
        assert lake.known(storage) in (known, lake.expected(table.files, "x"))
        vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert 8 < number < 59
    optimize_metadata(storage, lake.commit())
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert lake.known(storage) == lake.expected(table.files, "x")
    assert all_documents(storage) == before


def test_pieces_of_a_killed_writer_are_vacuumed(
    lake: Any, opensearch: RunningOpenSearch, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long manifest's pieces are written before it; wherever the writer ends, none stays for ever."""
    storage = fresh_storage(opensearch)
    table.refresh(storage, "x")
    key = metadata_chain(storage).key
    before = all_documents(storage)
    content = random.Random(2).randbytes(3_000_000)
    for number in range(1, 40):
        name = f"{key}/manifests/long-{number}"
        with killed_at(number, monkeypatch):
            storage.put_if_absent(name, content)
            break
        # Whoever sees the object can read it, also while another object has its pieces.
        assert storage.read(name) in (None, content)
        storage.documents.refresh(storage.url.objects)
        vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
        assert all_documents(storage) == before
    assert 6 < number < 39
    assert storage.read(name) == content and all_documents(storage) == before + 3
    assert lake.known(storage) == lake.expected(table.files, "x")


def lossy(monkeypatch: pytest.MonkeyPatch, chance: random.Random, ratio: float) -> None:
    """Lose requests and answers: half of them before they took effect."""
    once = OpenSearchClient._once

    def losing(client: OpenSearchClient, *arguments: Any) -> Any:
        if chance.random() < ratio / 2:
            raise opensearch_client._Busy("lost before")
        answer = once(client, *arguments)
        if chance.random() < ratio / 2:
            raise opensearch_client._Busy("lost after")
        return answer

    monkeypatch.setattr(OpenSearchClient, "_once", losing)


def test_writers_at_once_lose_and_double_nothing(
    lake: Any, search_server: RunningOpenSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All writers see all files, add some of their own, and lose one answer in ten."""
    storage = fresh_storage(search_server)
    files: dict[str, Any] = {}
    lossy(monkeypatch, random.Random(SEED), 0.1)

    def write(writer: int) -> None:
        for number in range(COMMITS_OF_EACH):
            files[f"file:/t/{writer}-{number}"] = lake.File((writer, number))
            patiently(lambda: lake.Table(dict(files)).refresh(storage, "x"))

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write, range(WRITERS)))
    monkeypatch.undo()
    assert len(files) == WRITERS * COMMITS_OF_EACH
    assert lake.known(storage) == lake.expected(files, "x")
    versions = metadata_chain(storage).versions()
    assert versions == tuple(range(1, len(versions) + 1))


def test_killed_and_started_again_at_random(lake: Any, tmp_path: Path) -> None:
    print(f"STARSKIP_OPENSEARCH_SEED={SEED}")
    chance = random.Random(SEED)
    server = RunningOpenSearch(tmp_path)
    server.start()
    kills = 0

    def restart(after_s: float) -> None:
        time.sleep(after_s)
        server.kill()
        server.start()

    try:
        storage = fresh_storage(server)
        table = lake.Table({f"file:/t/{number}": lake.File((number,)) for number in range(5)})
        table.refresh(storage, "x")
        for number in range(COMMITS):
            table.files[f"file:/t/{chance.randrange(8)}"] = lake.File((number,), version=number + 1)
            table.files.pop(f"file:/t/{chance.randrange(8)}", None)
            restarting = None
            if number == 0 or chance.random() < 0.25:
                restarting = threading.Thread(target=restart, args=(chance.uniform(0, 0.3),))
                restarting.start()
                kills += 1
            step = (lambda: optimize_metadata(storage, lake.commit())) if chance.random() < 0.1 else None
            patiently(step or (lambda: table.refresh(storage)))
            if restarting is not None:
                restarting.join()
            if step is None:
                assert lake.known(storage) == lake.expected(table.files, "x")
                assert_searched(storage)
        patiently(lambda: table.refresh(storage))
        assert lake.known(storage) == lake.expected(table.files, "x")
        versions = metadata_chain(storage).versions()
        assert versions == tuple(range(1, len(versions) + 1))
    finally:
        server.kill()
    print(f"{COMMITS} commits, {kills} kills, {len(versions)} versions")


def assert_searched(storage: OpenSearchStorage) -> None:
    metadata = read_metadata(storage)
    assert metadata is not None
    for value in range(0, 8, 3):
        clause = build_clause(metadata.indexes, [_equal("x", value)], {})
        assert clause is not None
        assert metadata.may_match(clause).tolist() == clause.may_match(metadata).tolist()


def test_tls_and_a_password(
    lake: Any,
    opensearch: RunningOpenSearch,
    table: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with nginx_in_front(opensearch.address, tmp_path / "nginx") as front:
        storage = metadata_storage(f"https+opensearch://{front.address}/tls/t-1")
        with pytest.raises(StorageError, match=r"certificate is not trusted.*STARSKIP_OPENSEARCH_CA_FILE"):
            read_metadata(storage)
        monkeypatch.setenv("STARSKIP_OPENSEARCH_CA_FILE", str(front.ca_file))
        told = []
        for user, password in ((None, None), (USER, "wrong-SECRET")):
            for name, value in {"USER": user, "PASSWORD": password}.items():
                if value:
                    monkeypatch.setenv(f"STARSKIP_OPENSEARCH_{name}", value)
            with pytest.raises(StorageError, match=r"refuses the credentials .*\(401\)") as error:
                read_metadata(storage)
            told.append(repr(error.value))
        monkeypatch.setenv("STARSKIP_OPENSEARCH_PASSWORD", PASSWORD)
        table.refresh(storage, "x")
        assert lake.known(storage) == lake.expected(table.files, "x")
        plain = fresh_storage(opensearch)
        assert read_metadata(plain) is None
        stored = "".join(
            str((storage.read(each.name) or b"")[:10_000])
            for each in storage.objects_below("")
            if "/manifests/" in each.name
        )
        seen = caplog.text + front.log.read_text() + "".join(told) + repr(storage) + stored
        assert "SECRET" not in seen and base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode() not in seen


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("opensearch://me:secret@host:9200/p", "holds a user or password: take it out"),
        ("https+opensearch://secret@host/p", "holds a user or password: take it out"),
        ("opensearch://host:9200", "write opensearch://HOST:PORT/PREFIX"),
        ("opensearch://host:99999/p", "write opensearch://HOST:PORT/PREFIX"),
        ("opensearch://host/Upper", "write opensearch://HOST:PORT/PREFIX"),
        ("opensearch://host/p?x=secret", "write opensearch://HOST:PORT/PREFIX"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(StorageError, match=told) as error:
        metadata_storage(url)
    assert "secret" not in str(error.value)


def test_secondary_indexes_stay_in_files(tmp_path: Path) -> None:
    assert index_storage(str(tmp_path), "opensearch://search:9200/p").place == f"{tmp_path}/_starskip"
    assert index_storage(str(tmp_path), str(tmp_path / "kept")).place.startswith(f"{tmp_path}/kept/")


def test_a_plan_does_not_wait_for_a_server_that_does_not_answer(
    lake: Any, opensearch: RunningOpenSearch, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = fresh_storage(opensearch)
    table.refresh(storage, "x")
    hasty = fresh_storage(opensearch, storage.url.table, patience_s=0)
    asked: list[float] = []
    once = OpenSearchClient._once

    def counted(*arguments: Any) -> Any:
        asked.append(arguments[-1])
        return once(*arguments)

    monkeypatch.setattr(OpenSearchClient, "_once", counted)
    monkeypatch.setattr(opensearch_client, "_ASIDE_S", 600.0)
    opensearch.pause()
    try:
        for _ in range(2):
            with pytest.raises(StorageOutage, match="does not answer"):
                read_metadata(hasty)
    finally:
        opensearch.go_on()
        opensearch_client._unreachable.clear()
    assert len(asked) == 1, "it is not asked again at once"
    assert asked[0] < 2
    monkeypatch.setattr(opensearch_client, "_SOON_S", 30.0)
    assert lake.known(hasty) == lake.expected(table.files, "x")


def test_a_command_says_that_it_waits(
    lake: Any,
    opensearch: RunningOpenSearch,
    table: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage = fresh_storage(opensearch)
    table.refresh(storage, "x")
    caplog.clear()
    opensearch_client._told.clear()
    opensearch.pause()
    monkeypatch.setattr(opensearch_client, "NOTICE_S", 0.3)
    woken = threading.Timer(2.0, opensearch.go_on)
    woken.start()
    try:
        assert lake.known(storage) == lake.expected(table.files, "x")
    finally:
        woken.join()
        opensearch_client._told.clear()
    told = [each.getMessage() for each in caplog.records if "no answer" in each.getMessage()]
    assert len(told) == 1 and "waiting up to 60 s" in told[0], told


def _equal(column: str, value: int) -> Expression:
    return Call("EqualTo", (Column((column,), "bigint"), Literal(pa.scalar(value, pa.int64()))))
