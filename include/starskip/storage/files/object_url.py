"""Parse the name of a file: a path on a disk, or the URL of an object in a bucket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from starskip.errors import SourceError, printable

SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "az": "az"}
"""Schemes of buckets, with the one that stands for them."""
# One letter before a colon would be a drive. A file name may hold a colon, so a path needs its slashes.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)/?(.*)", re.DOTALL)

_HALF_A_URL = re.compile(rf"({'|'.join(SCHEMES)}):(?!//)", re.IGNORECASE)


class ObjectUrl(NamedTuple):
    """An object or a folder of objects; ``scheme`` is "s3", "gs" or "az", ``key`` ends in no slash."""

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        """Return the URL as a person writes it."""
        return f"{self.scheme}://{self.bucket}" + (f"/{self.key}" if self.key else "")

    def below(self, name: str) -> ObjectUrl:
        """Return the object ``name`` of this folder."""
        return self._replace(key=f"{self.key}/{name}" if self.key and name else self.key or name)


def object_url(text: str) -> ObjectUrl | None:
    """Return the object or folder that ``text`` names; None for a path or ``file:`` URL of this machine.

    Raises SourceError for a scheme that is not known, for ``s3:`` without its slashes, and for a URL that
    holds a user or a password; the message holds neither.
    """
    half = _HALF_A_URL.match(text)
    if half:
        raise SourceError(
            f"{half[1]}: without // is neither a path nor a URL: write {half[1]}://bucket/folder",
            source=half[1],
        )
    matched = _URL.match(text)
    if matched is None or matched[1].lower() == "file":
        return None
    given, bucket, key = matched.groups()
    if given.lower() not in SCHEMES:
        raise SourceError(
            f"{printable(given, 30)}://… is not known here: give a path, or a URL that begins with s3://, "
            "gs:// or az://",
            source=given,
        )
    if "@" in bucket or ":" in bucket:
        raise SourceError(
            f"a URL of {given}:// holds a user, password or port before its bucket: take it out, credentials "
            "come from the environment (docs/object-stores.md)",
            source=given,
        )
    if not bucket:
        raise SourceError(
            f"{printable(text, 200)} names no bucket: write {given}://bucket/folder", source=given
        )
    return ObjectUrl(SCHEMES[given.lower()], bucket, key.strip("/"))


def local_path(text: str) -> Path:
    """Return the path that ``text`` names on this machine; ``file:`` URLs are taken literally."""
    if not text.startswith("file:/"):
        return Path(text)
    return Path("/" + text.removeprefix("file:").lstrip("/"))
