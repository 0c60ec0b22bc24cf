"""Requests to one component of Pinot: retries where they are safe, and errors of one line without secrets."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import tenacity

from starskip.errors import (
    AccessRefused,
    ConfigError,
    MissingSource,
    SourceError,
    SourceOutage,
    UnknownOutcome,
    first_line,
    printable,
)
from starskip.pinot.cluster.pinot_address import CA_FILE, PASSWORD, TOKEN, USER, PinotAddress

MAX_ANSWER_BYTES = 256 << 20
_ATTEMPTS = 4
_LONGEST_WAIT_SECONDS = 5.0
_PASSING = (408, 429, 502, 503, 504)
_SHOWN = 300


class _Passing(Exception):
    """A failure that may pass by itself."""


@dataclass(frozen=True, slots=True)
class PinotSession:
    """Requests to the component called ``name``, such as controller, at ``url``."""

    client: httpx.Client
    name: str
    url: str
    headers: Mapping[str, str] = field(repr=False)

    def get(self, path: str, right: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return what GET answers, as JSON; see ``request``."""
        return self.request("GET", path, right, params=params, is_repeatable=True)

    def request(
        self,
        method: str,
        path: str,
        right: str,
        *,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        is_repeatable: bool = False,
        timeout_seconds: float | None = None,
    ) -> Any:
        """Return the answer as JSON, or its text where it is none.

        ``right``: the permission that the request needs, as a refusal names it. ``is_repeatable``: whether it
        may be sent again when it is not known what came of it.

        Raises MissingSource for 404, AccessRefused for 401 and 403, UnknownOutcome where it may have been
        carried out or not, SourceOutage, SourceError.
        """
        request = self.client.build_request(
            method,
            f"{self.url}{path}",
            params=params or None,
            json=body,
            headers=dict(self.headers),
            timeout=httpx.USE_CLIENT_DEFAULT if timeout_seconds is None else timeout_seconds,
        )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Passing),
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=_LONGEST_WAIT_SECONDS),
            reraise=True,
        )
        try:
            response, content = retrying(self._sent, request, is_repeatable)
        except _Passing as error:
            raise SourceOutage(self._told(request, str(error)), source=self.url) from None
        if response.status_code >= 500 and not is_repeatable:
            raise self._unknown(request, f"answers {response.status_code}{_detail(content)}")
        self._check(request, response, content, right)
        return _parsed(content)

    def _sent(self, request: httpx.Request, is_repeatable: bool) -> tuple[httpx.Response, bytes]:
        try:
            response = self.client.send(request, stream=True)
            try:
                content = self._content(request, response)
            finally:
                response.close()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            # Nothing was sent: any request may be tried again.
            if "CERTIFICATE" in str(error):
                words = f"its certificate is not trusted (set {CA_FILE} to a file of its authority)"
                raise SourceError(self._told(request, words), source=self.url) from None
            is_tls = request.url.scheme == "https"
            hint = " over TLS: may its URL begin with http:// instead?" if is_tls else ""
            raise _Passing(f"does not answer{hint}") from None
        except httpx.HTTPError as error:
            words = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "broke off"
            if is_repeatable:
                raise _Passing(words) from None
            raise self._unknown(request, words) from None
        if response.status_code in _PASSING:
            if is_repeatable or response.status_code == 429:
                raise _Passing(f"answers {response.status_code}{_detail(content)}")
            raise self._unknown(request, f"answers {response.status_code}")
        return response, content

    def _content(self, request: httpx.Request, response: httpx.Response) -> bytes:
        found = bytearray()
        for part in response.iter_bytes():
            found += part
            if len(found) > MAX_ANSWER_BYTES:
                words = f"answers more than {MAX_ANSWER_BYTES >> 20} MiB"
                raise SourceError(self._told(request, words), source=self.url)
        return bytes(found)

    def _check(self, request: httpx.Request, response: httpx.Response, content: bytes, right: str) -> None:
        status = response.status_code
        if status in (401, 403):
            raise self.refusal(request.url.path, f"answers {status}", right)
        if status == 404:
            words = f"answers 404{_detail(content)}"
            raise MissingSource(self._told(request, words), source=self.url)
        if status >= 500:
            raise SourceOutage(self._told(request, f"answers {status}{_detail(content)}"), source=self.url)
        is_page = "html" in response.headers.get("content-type", "") and content.lstrip()[:1] == b"<"
        if 300 <= status < 400 or is_page:
            words = f"answers {status} and no JSON: is this Pinot's {self.name}, and no login page before it?"
            raise SourceError(self._told(request, words), source=self.url)
        if status >= 400:
            raise SourceError(self._told(request, f"answers {status}{_detail(content)}"), source=self.url)

    def refusal(self, path: str, words: str, right: str) -> AccessRefused:
        """Return the error of a request that was refused, with the right that is missing."""
        if "authorization" in self.headers:
            reason = f"the credentials are wrong, or have not the right {right}"
        else:
            reason = f"it wants credentials with the right {right}: set {USER} and {PASSWORD}, or {TOKEN}"
        text = f"Pinot's {self.name} {self.url}: {printable(path, 200)}: {words}: {reason}"
        return AccessRefused(text, source=self.url, right=right)

    def _unknown(self, request: httpx.Request, words: str) -> UnknownOutcome:
        text = f"{self._told(request, words)}; it may have been carried out or not"
        return UnknownOutcome(text, source=self.url)

    def _told(self, request: httpx.Request, words: str) -> str:
        path = printable(request.url.path, 200)
        return f"Pinot's {self.name} {self.url}: {request.method} {path}: {words}"


def _parsed(content: bytes) -> Any:
    text = content.decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _detail(content: bytes) -> str:
    """Return the first line of an error, up to a document that it repeats: a config may hold secrets."""
    answer = _parsed(content[:100_000])
    if isinstance(answer, dict):
        answer = answer.get("error") or answer.get("message") or ""
    elif isinstance(answer, str) and answer.lstrip()[:1] == "<":
        answer = ""
    text = str(answer).strip().partition("{")[0].partition("\n")[0].strip()
    return f": {printable(text, _SHOWN)}" if text else ""


@contextmanager
def open_client(address: PinotAddress) -> Iterator[httpx.Client]:
    """Give a client of HTTP whose connections are closed at the end."""
    verify: ssl.SSLContext | bool = True
    if address.ca_file:
        try:
            verify = ssl.create_default_context(cafile=address.ca_file)
        except (OSError, ssl.SSLError) as error:
            words = f"{CA_FILE}: {printable(address.ca_file, 200)}: is no readable file of certificates"
            raise ConfigError(words, setting=CA_FILE) from error
    # A broker may answer compressed, which the controller passes on without saying so.
    headers = {"accept-encoding": "identity", "user-agent": "starskip"}
    try:
        client = httpx.Client(timeout=address.timeout_seconds, verify=verify, headers=headers)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        # What is wrong in a URL may be a part of its password.
        told = "is no URL" if isinstance(error, httpx.InvalidURL) else first_line(error)
        words = f"a proxy of the environment, such as HTTPS_PROXY or ALL_PROXY: {told}"
        raise ConfigError(words, setting="proxy") from error
    with client:
        yield client


def component(client: httpx.Client, name: str, url: str, authorization: str, database: str) -> PinotSession:
    """Return the requests to one component, with its credentials; raises ConfigError for a wrong host."""
    try:
        httpx.URL(url).raw_host.decode().encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        words = f"the {name}'s URL {printable(url, 100)}: holds no name that a host can have"
        raise ConfigError(words, setting=name) from error
    headers = {"authorization": authorization, "database": database}
    return PinotSession(client, name, url, {each: text for each, text in headers.items() if text})
