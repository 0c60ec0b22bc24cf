"""Send requests to OpenSearch: credentials from the environment, time-outs, retries, errors without secrets.

The environment is read here and not handed down, since an executor on another machine has its own:
credentials never travel with the work. Each request of ours may be repeated: documents have names of their
own, and a create that meets its own document has succeeded.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starskip.errors import ConfigError, StorageError, StorageOutage

from starskip_opensearch.opensearch_url import OpenSearchUrl

try:
    import tenacity
    from opensearchpy import ImproperlyConfigured, OpenSearch, exceptions
except ModuleNotFoundError as error:
    library = "opensearch-py" if error.name == "opensearchpy" else error.name
    raise ConfigError(
        f"metadata in OpenSearch needs the library {library}: pip install 'starskip[opensearch]'",
        setting="metadata",
    ) from None

USER, PASSWORD = "STARSKIP_OPENSEARCH_USER", "STARSKIP_OPENSEARCH_PASSWORD"
CA_FILE = "STARSKIP_OPENSEARCH_CA_FILE"
NOTICE_S = 5.0
"""Seconds without an answer after which a warning says that a command waits."""
_ANSWER_S = 60.0
_SOON_S = 1.5
"""For a query that is being planned, which runs without skipping otherwise."""
_ASIDE_S = 10.0
_SILENT = "the store does not answer"
_BUSY = (408, 429, 502, 503, 504)
_CODE = re.compile(r"[a-z_]{1,60}")
_unreachable: dict[str, float] = {}
"""By server the monotonic time until which plans do not ask it again."""
_told: dict[str, float] = {}
"""By server the monotonic time until which a wait is not reported again."""
_LOGGERS = ("opensearch", "opensearchpy.trace")
"""The first logs each failed request, which is retried or reported here; the second logs all that is sent."""

log = logging.getLogger("starskip.storage")


@dataclass(frozen=True, slots=True)
class Response:
    """``document`` is the body, {} for a status of 404 or 409 without one."""

    status: int
    document: Mapping[str, Any]


class RefusedQuery(StorageError):
    """A query that the server does not take, such as one of more clauses than its settings allow."""


class _Busy(Exception):
    """A failure that may pass by itself."""


@dataclass(frozen=True, slots=True)
class OpenSearchClient:
    """Requests to one server; ``patience_s``: how long to retry, 0 for one short try."""

    url: OpenSearchUrl
    patience_s: float

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        allowed: tuple[int, ...] = (),
    ) -> Response:
        """Return the answer of the server; statuses of 400 and more are errors unless ``allowed``.

        Raises StorageOutage where there is no answer in time, and StorageError.
        """
        if not self.patience_s:
            return self._soon(method, path, body, params, allowed)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Busy),
            stop=tenacity.stop_after_delay(self.patience_s),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=2),
            reraise=True,
        )
        # A request that hangs says nothing by itself.
        notice = threading.Timer(NOTICE_S, self._tell_of_waiting)
        notice.daemon = True
        notice.start()
        try:
            return retrying(self._once, method, path, body, params, allowed, _ANSWER_S)
        except _Busy as error:
            raise self._outage(str(error)) from None
        finally:
            notice.cancel()

    def _tell_of_waiting(self) -> None:
        now, server = time.monotonic(), self.url.server
        if now >= _told.get(server, 0.0):
            _told[server] = now + self.patience_s
            log.warning(
                "%s: no answer for %.0f s; waiting up to %.0f s for it",
                self.url._replace(table=""),
                NOTICE_S,
                self.patience_s,
            )

    def _soon(
        self, method: str, path: str, body: Any, params: Mapping[str, Any] | None, allowed: tuple[int, ...]
    ) -> Response:
        server = self.url.server
        if time.monotonic() < _unreachable.get(server, 0.0):
            raise self._outage(_SILENT)
        try:
            return self._once(method, path, body, params, allowed, _SOON_S)
        except _Busy as error:
            _unreachable[server] = time.monotonic() + _ASIDE_S
            raise self._outage(str(error)) from None

    def _once(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, Any] | None,
        allowed: tuple[int, ...],
        timeout_s: float,
    ) -> Response:
        client = _client(self.url, os.getpid(), *(os.environ.get(name) for name in (USER, PASSWORD, CA_FILE)))
        try:
            found = client.transport.perform_request(
                method, path, params=dict(params or {}), body=body, timeout=timeout_s
            )
        except exceptions.SSLError:
            raise self._error(
                f"its certificate is not trusted: name its authority's file in {CA_FILE}"
            ) from None
        except exceptions.ConnectionError:
            raise _Busy(_SILENT) from None
        except exceptions.TransportError as error:
            status = error.status_code if isinstance(error.status_code, int) else 0
            info = error.info if isinstance(error.info, Mapping) else {}
            if status in allowed:
                return Response(status, info)
            raise self._refusal(status, str(error.error)) from None
        except exceptions.OpenSearchException as error:
            raise _Busy(f"the store gives no whole answer ({type(error).__name__})") from None
        return Response(200, found if isinstance(found, Mapping) else {})

    def _refusal(self, status: int, code: str) -> Exception:
        kind = f" {code}" if _CODE.fullmatch(code) else ""
        if status in _BUSY:
            return _Busy(f"the store answers {status}{kind}")
        if status == 401 and not self.url.is_tls:
            return self._error("the store wants credentials, which are sent to https+opensearch:// only")
        if status in (401, 403) and code != "cluster_block_exception":
            return self._error(f"the store refuses the credentials in {USER} and {PASSWORD} ({status}{kind})")
        if code == "search_phase_execution_exception":
            return RefusedQuery(f"{self.url}: a query is refused ({status})", location=str(self.url))
        return self._error(f"the store answers {status}{kind}")

    def _outage(self, sentence: str) -> StorageOutage:
        # The same for all tables, so it is reported once.
        place = str(self.url._replace(table=""))
        return StorageOutage(f"{place}: {sentence}", location=place)

    def _error(self, sentence: str) -> StorageError:
        return StorageError(f"{self.url}: {sentence}", location=str(self.url))


@lru_cache(maxsize=16)
def _client(
    url: OpenSearchUrl, process: int, user: str | None, password: str | None, ca_file: str | None
) -> Any:
    """Return a client of this ``process``, since a forked one would share its connections."""
    del process
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    secure: dict[str, Any] = {"ca_certs": ca_file} if url.is_tls and ca_file else {}
    if url.is_tls and user:
        secure["http_auth"] = (user, password or "")
    try:
        return OpenSearch(
            [{"host": url.host.strip("[]"), "port": url.port}],
            use_ssl=url.is_tls,
            verify_certs=url.is_tls,
            max_retries=0,
            retry_on_timeout=False,
            http_compress=False,
            pool_maxsize=8,
            **secure,
        )
    except (OSError, ValueError, ImproperlyConfigured) as error:
        raise StorageError(
            f"{url}: {CA_FILE} names no file of certificates ({type(error).__name__})", location=str(url)
        ) from None
