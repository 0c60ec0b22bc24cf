"""Wrap data keys by a named key: of a file, by AES key wrap (RFC 3394), or of a key service."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

from starskip.errors import StarskipError, TransientError

KEY_BYTES = 32


class WrongKey(StarskipError):
    """A named key was to unwrap data keys that another key has wrapped."""


class KeyServiceOutage(TransientError):
    """A key service that does not answer, or that answers that it cannot just now."""


@runtime_checkable
class WrappingKey(Protocol):
    """A named key; a key service of a user's own implements it (docs/encryption.md)."""

    def wrap(self, data_keys: Sequence[bytes]) -> list[str]:
        """Return each data key wrapped, as printable text, in the same order.

        Raises KeyServiceOutage, and StarskipError for a key that may not wrap.
        """
        ...

    def unwrap(self, wrapped: Sequence[str]) -> list[bytes]:
        """Return the data keys that ``wrap`` wrapped, in the same order.

        Raises WrongKey if another key has wrapped one of them, and KeyServiceOutage.
        """
        ...


class LocalKey:
    """A key of 32 bytes in this process; its text never shows them."""

    def __init__(self, secret: bytes) -> None:
        """Take the bytes of the key; raise ValueError unless they are 32."""
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    def wrap(self, data_keys: Sequence[bytes]) -> list[str]:
        """See WrappingKey.wrap."""
        return [base64.b64encode(aes_key_wrap(self._secret, each)).decode() for each in data_keys]

    def unwrap(self, wrapped: Sequence[str]) -> list[bytes]:
        """See WrappingKey.unwrap."""
        try:
            # A wrapped key has a check value of its own, which another key does not meet.
            return [aes_key_unwrap(self._secret, base64.b64decode(each, validate=True)) for each in wrapped]
        except (InvalidUnwrap, binascii.Error, ValueError) as error:
            raise WrongKey("another key has wrapped the data keys") from error
