"""Behaviour of object stores: conditional puts proved, lost answers, refused keys, Arrow and Spark."""

from __future__ import annotations

import http.client
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import starskip
from starskip.errors import SourceError, SourceOutage, StorageError, StorageOutage
from starskip.storage.files.open_file import open_file
from starskip.storage.object_storage import ObjectStorage
from starskip.storage.storage import PutVerdict, Storage
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class CarelessStore:
    """Keeps objects as S3 does, but for the condition of a put: ``care`` is what it makes of it."""

    care: str
    objects: dict[str, bytes] = field(default_factory=dict)

    def handler(careless) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status: int) -> None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.send_header("ETag", '"1"')
                self.end_headers()

            def do_PUT(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers["If-None-Match"] and careless.care == "none, and says so":
                    return self.answer(501)
                if careless.care == "checks, then writes":
                    taken = self.path in careless.objects
                    time.sleep(0.2)
                    if taken:
                        return self.answer(412)
                careless.objects[self.path] = content
                return self.answer(200)

            def do_POST(self) -> None:  # S3 deletes a list of keys, even if it is of one
                content = self.rfile.read(int(self.headers["Content-Length"])).decode()
                keys = re.findall("<Key>(.*?)</Key>", content)
                for key in keys:
                    careless.objects.pop(f"/careless/{key}", None)
                done = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
                answer = f"<DeleteResult>{done}</DeleteResult>".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.mark.parametrize("care", ["none", "checks, then writes", "none, and says so"])
def test_store_without_conditional_puts_is_refused_by_name(
    care: str, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CarelessStore(care)
    with served(store.handler()) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        storage = storage_for("s3://careless/artefacts")
        for _ in range(2):  # asked again, it is refused again
            with pytest.raises(StorageError, match="does not keep to conditional puts") as caught:
                storage.put_if_absent("a/1", b"x")
            assert str(caught.value).startswith("s3://careless/artefacts: ")
    assert store.objects == {}


def test_new_folder_is_proved_once_and_the_proof_is_no_artefact(s3: Any) -> None:
    url = s3.fresh_url()
    storage = storage_for(url)
    assert storage.put_if_absent("a/1", b"x") is PutVerdict.STORED
    assert storage.put_if_absent("a/1", b"y") is PutVerdict.ALREADY_EXISTS
    assert [found.name for found in storage.objects_below("")] == ["a/1"]
    assert storage.folders_in("") == ("a",)
    below = [meta["path"] for page in s3.store().list(url.removeprefix(s3.url())) for meta in page]
    assert len(below) == 2, "the object, and the probe that the next process will meet"


def meddler(endpoint: str, is_lost: Callable[[str, str], bool]) -> type[BaseHTTPRequestHandler]:
    """Return a proxy that lets every request through and keeps some of the answers to itself."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"] or 0))
            upstream = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=30)
            upstream.request(self.command, self.path, content, dict(self.headers))  # signed for our name
            answer = upstream.getresponse()
            body = answer.read()
            upstream.close()
            if is_lost(self.command, self.path):
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in (
                    "content-length",
                    "connection",
                    "transfer-encoding",
                    "date",
                    "server",
                ):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = forward  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def test_every_answer_to_a_commit_is_lost_once_on_its_way(
    s3: Any,
    support: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    fresh_s3_storage: Callable[[], Storage],
) -> None:
    lost: list[str] = []

    def is_lost(method: str, path: str) -> bool:
        if method == "PUT" and path not in lost:
            lost.append(path)
            return True
        return False

    storage = fresh_s3_storage()
    with served(meddler(s3.endpoint, is_lost)) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        store = support.store_on(storage)
        for generation in range(1, 6):
            support.publish(store, {"a": generation, "b": generation})
            assert support.seen(store) == {"a": generation, "b": generation}
        assert store.chain("numbers", support.NIGHT).versions() == (1, 2, 3, 4, 5)
    assert sum("/manifests/" in path for path in lost) == 5
    assert len(list(storage.objects_below(f"numbers/{support.NIGHT}/data"))) == 10, "lost or doubled"


def said(call: Callable[[], object]) -> str:
    with pytest.raises(StorageError) as caught:
        call()
    everything = "".join(traceback.format_exception(caught.value))
    for secret in ("-SECRET", "writer-key", "reader-key", "nobody-key", "Signature="):
        assert secret not in everything
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_key_that_may_only_read(s3: Any, s3_storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    s3_storage.put_if_absent("a/1", b"x")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "reader-SECRET")
    assert s3_storage.read("a/1") == b"x"
    assert said(lambda: s3_storage.put_if_absent("a/2", b"x")).endswith("access is denied (403 AccessDenied)")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-SECRET")
    calls = (
        lambda: s3_storage.read("a/1"),
        lambda: list(s3_storage.objects_below("")),
        lambda: s3_storage.folders_in(""),
        lambda: s3_storage.delete("a/1"),
        lambda: s3_storage.put_if_absent("a/3", b""),
    )
    for call in calls:
        assert "the store refuses the credentials (403 SignatureDoesNotMatch)" in said(call)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody-key")
    assert "refuses the credentials (403 InvalidAccessKeyId)" in said(calls[0])


def test_bucket_that_is_not_there(s3: Any) -> None:
    storage = storage_for("s3://nowhere/artefacts")
    for call in (
        lambda: storage.read("a/1"),
        lambda: list(storage.objects_below("")),
        lambda: storage.folders_in(""),
        lambda: storage.put_if_absent("a/1", b"x"),
    ):
        assert said(call).endswith("there is no such bucket")


def test_nobody_answers(s3_storage: Any, monkeypatch: pytest.MonkeyPatch, quick_retries: Any) -> None:
    quick_retries()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    for call in (lambda: s3_storage.read("a"), lambda: s3_storage.put_if_absent("a", b"x")):
        assert said(call).endswith("the store at 127.0.0.1:1 does not answer")
        with pytest.raises(StorageOutage):
            call()


@pytest.mark.parametrize(("status", "may_pass"), [(500, True), (503, True), (429, True), (400, False)])
def test_store_that_cannot_just_now(
    status: int, may_pass: bool, s3: Any, monkeypatch: pytest.MonkeyPatch, quick_retries: Any
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    quick_retries()
    with served(Handler) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(StorageError, match=f"answers {status}, after repeated attempts") as storage:
            storage_for("s3://night/artefacts").read("a")
        with pytest.raises(SourceError) as source:
            open_file("s3://night/logs/a.log")
    assert isinstance(storage.value, StorageOutage) == may_pass
    assert isinstance(source.value, SourceOutage) == may_pass


def test_no_credentials_at_all(s3_storage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "no credentials are found: set AWS_ACCESS_KEY_ID" in said(lambda: s3_storage.read("a"))


def test_parquet_of_the_bucket_through_arrow(s3_storage: Any) -> None:
    rows = pa.table({"n": list(range(100_000)), "text": ["x" * 20] * 100_000})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=10_000)
    s3_storage.put_if_absent("a/b%20 c.parquet", sink.getvalue().to_pybytes())
    filesystem = s3_storage.arrow_filesystem()
    assert pq.read_table("a/b%20 c.parquet", filesystem=filesystem).equals(rows)
    assert pq.read_metadata("a/b%20 c.parquet", filesystem=filesystem).num_row_groups == 10
    assert filesystem == storage_for(s3_storage.place).arrow_filesystem()
    with pytest.raises(FileNotFoundError):
        filesystem.open_input_file("a/none")
    with pytest.raises(NotImplementedError):
        filesystem.open_output_stream("a/none")


def test_object_larger_than_a_part_of_a_multipart_upload(s3_storage: Any) -> None:
    content = os.urandom(9 << 20)
    assert s3_storage.put_if_absent("a/large", content) is PutVerdict.STORED
    assert s3_storage.put_if_absent("a/large", b"x") is PutVerdict.ALREADY_EXISTS
    assert s3_storage.read("a/large") == content


def test_pages_of_a_listing(s3_storage: Any) -> None:
    names = {f"a/{number:04d}" for number in range(1_203)}
    for name in names:
        s3_storage.put_if_absent(name, b"")
    assert {found.name for found in s3_storage.objects_below("a")} == names


def test_it_travels_to_another_process(s3_storage: Any) -> None:
    s3_storage.put_if_absent("a/1", b"x")
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).read('a/1'))"
    travelled = pickle.dumps(s3_storage)
    assert b"SECRET" not in travelled
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=travelled,
        env=os.environ | {"PYTHONPATH": str(Path(starskip.__file__).parents[1])},
        capture_output=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (b"b'x'\n", b"")


def test_child_of_a_fork_is_told_instead_of_waiting_for_ever(s3_storage: ObjectStorage) -> None:
    s3_storage.read("a/1")
    script = (
        "import os, sys\n"
        "from starskip.storage.storage_for import storage_for\n"
        "storage = storage_for(sys.argv[1])\n"
        "storage.read('a/1')\n"
        "if os.fork():\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "storage.read('a/1')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(s3_storage.root)],
        env=os.environ | {"PYTHONPATH": str(Path(starskip.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "forked from one that had used an object store" in done.stderr
