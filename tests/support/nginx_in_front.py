"""Debian's nginx in front of a server: TLS by a certificate of its own, and a user with a password."""

from __future__ import annotations

import datetime as dt
import ipaddress
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from free_ports import free_port

USER, PASSWORD = "search-user", "search-SECRET"
_CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  client_max_body_size 100m; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
    auth_basic search; auth_basic_user_file {folder}/users;
    location / {{ proxy_pass http://{address}; proxy_set_header Authorization ""; }}
  }}
}}
"""


@dataclass(frozen=True)
class Front:
    """``address`` is HOST:PORT; ``ca_file``: the certificate's authority."""

    address: str
    ca_file: Path
    log: Path


@contextmanager
def nginx_in_front(address: str, folder: Path) -> Iterator[Front]:
    """Have nginx take requests for ``address``, until the end."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program, "tests of TLS need nginx: sudo apt-get install nginx-light"
    folder.mkdir()
    port = free_port()
    _certificate(folder)
    (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    (folder / "nginx.conf").write_text(_CONFIGURATION.format(folder=folder, port=port, address=address))
    running = subprocess.Popen(
        [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert running.poll() is None, (folder / "error.log").read_text()
            time.sleep(0.05)
        yield Front(f"127.0.0.1:{port}", folder / "certificate.pem", folder / "access.log")
    finally:
        running.terminate()
        running.wait()


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
