"""Encrypt and decrypt Parquet files by random data keys (Parquet modular encryption, AES-GCM).

A file is encrypted as a whole: footer, statistics, dictionaries and pages. The additional authenticated data
(AAD) of a file names its table, its group of columns and its own name in the store. The name differs in each
version, so no file can be put in another's place.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow.parquet import encryption

from starskip.errors import StarskipError
from starskip.storage.encryption.wrapping_key import KEY_BYTES


@dataclass(frozen=True, slots=True, repr=False)
class DataKey:
    """The ``secret`` that encrypts one group of a table's columns in the files of one write.

    It is sent to tasks within their code; its text never shows the secret.
    """

    secret: bytes
    table: str
    group: str

    @classmethod
    def new(cls, table: str, group: str) -> DataKey:
        """Return a new random key."""
        return cls(os.urandom(KEY_BYTES), table, group)

    def encryption(self, name: str) -> Any:
        """Return how pyarrow encrypts the file ``name``."""
        # The AAD is not stored in the file: a reader must know the file's table, group and name.
        create = _of_pyarrow("create_encryption_properties")
        return create(self.secret, aad_prefix=self._aad(name), store_aad_prefix=False)

    def decryption(self, name: str) -> Any:
        """Return how pyarrow decrypts the file ``name``; a plain file is refused."""
        create = _of_pyarrow("create_decryption_properties")
        return create(self.secret, aad_prefix=self._aad(name))

    def _aad(self, name: str) -> bytes:
        return json.dumps([self.table, self.group, name]).encode()

    def __repr__(self) -> str:
        """Return the text without the secret."""
        return f"DataKey(table={self.table!r}, group={self.group!r})"


def _of_pyarrow(name: str) -> Any:
    """Return a function of pyarrow 25 and newer; StarskipError beside an older one."""
    found = getattr(encryption, name, None)
    if found is None:
        raise StarskipError(
            f"encrypted metadata needs pyarrow 25 or newer, and {pa.__version__} is installed: "
            "pip install --upgrade pyarrow"
        )
    return found
