"""A temporary file without a name, whose bytes only this process can read.

It may hold hashes of the values of an encrypted index. They are written by AES in counter mode, under a
random key that is in memory only. Each place is written once, since two contents under the same key at the
same place would show their difference.
"""

from __future__ import annotations

import os
import tempfile

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_BLOCK = 16
_KEY_BYTES = 32


class SecretFile:
    """A file in ``TMPDIR``, which disappears with the process at the latest."""

    def __init__(self) -> None:
        """Make an empty file and its key."""
        self._file = tempfile.TemporaryFile(prefix="starskip-")  # noqa: SIM115 - closed by its owner
        self._key = algorithms.AES256(os.urandom(_KEY_BYTES))

    def write_at(self, start: int, content: bytes) -> None:
        """Write bytes at a place where none were written before."""
        self._file.seek(start)
        self._file.write(self._crypted(start, content))

    def read_at(self, start: int, size_bytes: int) -> bytes:
        """Return bytes that were written."""
        self._file.seek(start)
        return self._crypted(start, self._file.read(size_bytes))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _crypted(self, start: int, content: bytes) -> bytes:
        block, behind = divmod(start, _BLOCK)
        stream = Cipher(self._key, modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        stream.update(bytes(behind))
        return stream.update(content)
