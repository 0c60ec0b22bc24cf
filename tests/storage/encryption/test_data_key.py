"""Data keys beside a pyarrow that cannot encrypt by them."""

from __future__ import annotations

import pytest
from pyarrow.parquet import encryption
from starskip.errors import StarskipError
from starskip.storage.encryption.data_key import DataKey


def test_an_older_pyarrow_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    key = DataKey.new("events", "bloom")
    assert key.encryption("a.parquet") and key.decryption("a.parquet")
    for name in ("create_encryption_properties", "create_decryption_properties"):
        monkeypatch.delattr(encryption, name)
    for refused in (key.encryption, key.decryption):
        with pytest.raises(StarskipError, match=r"needs pyarrow 25 or newer, and [\d.]+ is installed: pip"):
            refused("a.parquet")
