"""Read a key of 32 bytes from a file that holds them raw or as base64."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from starskip.errors import ConfigError
from starskip.storage.encryption.wrapping_key import KEY_BYTES, LocalKey

_MOST_BYTES = 256
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_WHITE = re.compile(rb"\s+")


def key_from_file(path: str | Path) -> LocalKey:
    """Return the key of a file; raise ConfigError, which never quotes it, for a file without a key."""
    try:
        with Path(path).open("rb") as opened:
            content = opened.read(_MOST_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{path}: the key file cannot be read ({error.strerror or 'unreadable'})", setting="key"
        ) from None
    return key_from_bytes(content, str(path))


def key_from_bytes(content: bytes, place: str) -> LocalKey:
    """Return the key that 32 raw bytes, or their base64, are; ``place`` names them in errors."""
    if len(content) == KEY_BYTES:
        return LocalKey(content)
    text = _WHITE.sub(b"", content).rstrip(b"=").translate(_URL_SAFE)
    try:
        secret = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) != KEY_BYTES:
        # The message does not even say how many bytes there are: they may be some other secret.
        raise ConfigError(
            f"{place}: is no key: write 32 random bytes, raw or as base64 (openssl rand -base64 32)",
            setting="key",
        )
    return LocalKey(secret)
