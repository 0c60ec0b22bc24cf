"""A proxy in front of a real server that alters single answers, for faults that no server makes."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Exchange:
    """A request on its way, and then its answer; ``body`` and ``answer`` are JSON where they can be read."""

    method: str
    path: str
    body: Any
    status: int = 0
    answer: Any = None
    is_forwarded: bool = True
    is_cut: bool = False
    """The connection is closed in place of an answer."""


Alter = Callable[[Exchange], None]


@dataclass
class AlteringProxy:
    """The proxy: ``before`` sees each request, ``after`` its answer; both are replaced by tests."""

    url: str = ""
    before: list[Alter] = field(default_factory=list)
    after: list[Alter] = field(default_factory=list)

    def clear(self) -> None:
        """Alter nothing any more."""
        self.before.clear()
        self.after.clear()


@contextmanager
def altering_proxy(target: str) -> Iterator[AlteringProxy]:
    """Give a proxy in front of the server at the URL ``target``."""
    place = urlsplit(target)
    proxy = AlteringProxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            exchange = Exchange(self.command, self.path, _parsed(content))
            for each in list(proxy.before):
                each(exchange)
            if exchange.is_forwarded:
                self._forward(exchange, content)
            for each in list(proxy.after):
                each(exchange)
            if exchange.is_cut:
                self.close_connection = True
                self.connection.close()
                return
            told = (
                exchange.answer
                if isinstance(exchange.answer, bytes)
                else json.dumps(exchange.answer).encode()
            )
            self.send_response(exchange.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def _forward(self, exchange: Exchange, content: bytes) -> None:
            body = content if isinstance(exchange.body, bytes) else json.dumps(exchange.body).encode()
            dropped = ("host", "content-length", "connection", "accept-encoding")
            headers = {k: v for k, v in self.headers.items() if k.lower() not in dropped}
            connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
            try:
                connection.request(exchange.method, exchange.path, body or None, headers)
                answer = connection.getresponse()
                exchange.status, exchange.answer = answer.status, _parsed(answer.read())
            except OSError:
                exchange.is_cut = True
            finally:
                connection.close()

        def log_message(self, *_: Any) -> None:
            """Keep silent."""

    for method in ("GET", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._handle)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content
