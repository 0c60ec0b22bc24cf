"""A changed bit in a footer of the metadata: told in one line, of encrypted files, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flipped_footers import flipped_footers
from starskip.errors import StorageError
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.storage import checked_parquet
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey

KEYS = Keyring({"pii": LocalKey(b"p" * 32), "listing": LocalKey(b"l" * 32)})
ENCRYPTION = {
    "plain": Encryption(Keyring()),
    "encrypted": Encryption(KEYS, {"minmax:x": "pii", "minmax:y": "pii"}, "listing"),
}
GROUPS = ("minmax:x", "files")


def flips_met(storage: Any, encryption: Encryption, group: str) -> dict[str, int]:
    """Return how often each became of a flip in the footer of a group's file."""
    metadata = existing_metadata(storage, keyring=encryption.keyring)
    (segment,) = metadata.segments.values()
    (file,) = segment.files if group == "files" else segment.groups[group]
    names = ["path"] if group == "files" else ["min", "max"]
    read, schema = partial(metadata.store.read, [file], names), partial(metadata.store.schema, file)
    whole, its_schema = read(), schema()
    path = Path(storage.root) / file.name
    path.chmod(0o644)
    content = path.read_bytes()
    found: dict[str, int] = {}
    for flipped in flipped_footers(content):
        path.write_bytes(flipped)
        for ask, expected in ((read, whole), (schema, its_schema)):
            try:
                became = "read" if ask().equals(expected) else "another value"
            except StorageError as error:
                is_line = str(error) == f"{file.name}: is gone or damaged; refresh the metadata in full"
                became = "told" if is_line else str(error)
            except Exception as error:
                became = repr(error)
            found[became] = found.get(became, 0) + 1
    path.write_bytes(content)
    assert read().equals(whole)
    return found


@pytest.mark.parametrize("encryption", ENCRYPTION)
@pytest.mark.parametrize("group", GROUPS)
def test_each_changed_bit_of_a_footer_is_told(
    lake: Any, storage: Any, table: Any, encryption: str, group: str
) -> None:
    chosen = ENCRYPTION[encryption]
    table.refresh(storage, "x", "y", encryption=chosen)
    found = flips_met(storage, chosen, group)
    assert found.keys() == {"told"} and found["told"] > 2_000


def test_without_their_digests_footers_are_believed(
    storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.refresh(storage, "x", "y", encryption=ENCRYPTION["plain"])
    monkeypatch.setattr(checked_parquet, "_checked_footer", lambda *given: None)
    assert flips_met(storage, ENCRYPTION["plain"], "minmax:x").keys() != {"told"}
