"""Parse URLs of stores in OpenSearch: ``opensearch://HOST:PORT/PREFIX``, with TLS ``https+opensearch://``."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from starskip.errors import StorageError, printable

_SCHEME = re.compile(r"(https\+)?opensearch:", re.IGNORECASE)
_URL = re.compile(
    r"//(?P<host>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,60}\])(?::(?P<port>\d{1,5}))?"
    r"/(?P<prefix>[a-z0-9][a-z0-9_-]{0,99})(?:/(?P<table>[A-Za-z0-9._-]{1,200}))?/?"
)
DEFAULT_PORT = 9200


class OpenSearchUrl(NamedTuple):
    """One table's store, or all tables' with an empty ``table``; indices are named after ``prefix``."""

    host: str
    port: int
    is_tls: bool
    prefix: str
    table: str

    def __str__(self) -> str:
        """Return the URL as a person writes it."""
        scheme = "https+opensearch" if self.is_tls else "opensearch"
        text = f"{scheme}://{self.host}:{self.port}/{self.prefix}"
        return f"{text}/{self.table}" if self.table else text

    @property
    def server(self) -> str:
        """The address of the server."""
        return f"{'https' if self.is_tls else 'http'}://{self.host}:{self.port}"

    @property
    def objects(self) -> str:
        """The name of the index of objects, of all tables."""
        return f"{self.prefix}-objects"

    @property
    def pieces(self) -> str:
        """The name of the index of pieces of contents and columns, of all tables."""
        return f"{self.prefix}-pieces"

    @property
    def rows(self) -> str:
        """The name of the index of this table's rows."""
        return f"{self.prefix}-rows-{hashlib.sha256(self.table.encode()).hexdigest()[:32]}"


def opensearch_url(text: str) -> OpenSearchUrl | None:
    """Parse a URL, None for a URL of another scheme.

    Raises StorageError, whose message holds no password, for a URL that holds a user or is not understood.
    """
    scheme = _SCHEME.match(text)
    if scheme is None:
        return None
    given, rest = scheme[0], text[scheme.end() :]
    if "@" in rest:
        raise StorageError(
            f"a URL of {given}// holds a user or password: take it out, and set STARSKIP_OPENSEARCH_USER and "
            "STARSKIP_OPENSEARCH_PASSWORD (docs/metadata-stores.md)",
            location=given,
        )
    found = _URL.fullmatch(rest)
    port = int(found["port"] or DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 65_536:
        raise StorageError(
            f"{printable(given)}: write {given}//HOST:PORT/PREFIX, where PREFIX is of a-z, 0-9, _ and -, "
            "such as opensearch://search:9200/starskip",
            location=given,
        )
    return OpenSearchUrl(found["host"], port, scheme[1] is not None, found["prefix"], found["table"] or "")
