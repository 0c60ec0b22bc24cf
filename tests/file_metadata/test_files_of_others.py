"""Files of metadata in the place of others, with as many rows: told, and made anew by a refresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import StorageError
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_metadata import COLUMNS
from starskip.storage import checked_parquet
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey

KEYS = Keyring({"pii": LocalKey(b"p" * 32), "listing": LocalKey(b"l" * 32)})
ENCRYPTION = {
    "plain": Encryption(Keyring()),
    "encrypted": Encryption(KEYS, {"minmax:x": "pii", "minmax:y": "pii"}, "listing"),
}


@pytest.fixture(params=ENCRYPTION)
def encryption(request: pytest.FixtureRequest, lake: Any, storage: Any, table: Any) -> Encryption:
    """Write metadata of two segments, one with dead rows, over that of an earlier version."""
    chosen = ENCRYPTION[request.param]
    refresh(table, storage, chosen, "x", "y")
    refresh(table, storage, chosen, in_full=True)
    for name in list(table.files):
        table.files[f"{name}-new"] = lake.File((len(table.files), 7))
    table.files[next(iter(table.files))] = lake.File((1, 2, 3), version=1)
    refresh(table, storage, chosen)
    return chosen


def refresh(table: Any, storage: Any, encryption: Encryption, *created: str, **options: Any) -> Any:
    COLUMNS.clear()
    of = encryption if created else Encryption(encryption.keyring)
    return table.refresh(storage, *created, encryption=of, **options)


def known(lake: Any, storage: Any, encryption: Encryption) -> Any:
    COLUMNS.clear()
    return lake.known(storage, encryption.keyring)


def segments(storage: Any, encryption: Encryption) -> list[Segment]:
    return list(existing_metadata(storage, keyring=encryption.keyring).segments.values())


def swaps(storage: Any, encryption: Encryption) -> Iterator[tuple[Path, bytes]]:
    """Yield each file that counts with the content of each other one, of an earlier version, too."""
    every = {path: path.read_bytes() for path in Path(storage.root).rglob("data/**/*.parquet")}
    for segment in segments(storage, encryption):
        for file in segment.to_part().files:
            path = Path(storage.root) / file.name
            yield from ((path, content) for other, content in every.items() if other != path)


def told_of_swaps(lake: Any, storage: Any, encryption: Encryption) -> tuple[int, int]:
    """Return how many swaps there are, and how many are told; no other value may come of one."""
    whole = known(lake, storage, encryption)
    swapped = told = 0
    for path, content in list(swaps(storage, encryption)):
        kept = path.read_bytes()
        path.write_bytes(content)
        try:
            assert known(lake, storage, encryption) == whole
        except StorageError as error:
            assert str(error).endswith(f"/{path.name}: is gone or damaged; refresh the metadata in full")
            told += 1
        path.write_bytes(kept)
        swapped += 1
    return swapped, told


def test_each_file_in_the_place_of_each_other_is_told(
    lake: Any, storage: Any, table: Any, encryption: Encryption
) -> None:
    swapped, told = told_of_swaps(lake, storage, encryption)
    assert told == swapped > 50


def test_readers_that_do_not_ask_whose_a_file_is_give_other_values(
    lake: Any, storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ENCRYPTION["plain"]
    refresh(table, storage, plain, "x", "y")
    table.files = {path: lake.File((9, 99)) for path in table.files}
    refresh(table, storage, plain, in_full=True)
    monkeypatch.setattr(checked_parquet, "require_own", lambda footer, name: None)
    monkeypatch.setattr(checked_parquet, "_checked_footer", lambda *given: None)
    with pytest.raises(AssertionError):
        told_of_swaps(lake, storage, plain)


@pytest.mark.parametrize("damage", ["another's", "cut", "gone"])
@pytest.mark.parametrize("group", ["minmax:x", "minmax:y", "files", "removed"])
def test_a_refresh_makes_what_is_damaged_anew(
    lake: Any,
    storage: Any,
    table: Any,
    encryption: Encryption,
    caplog: pytest.LogCaptureFixture,
    group: str,
    damage: str,
) -> None:
    # The later one lists the dead rows of the first.
    first, second = sorted(segments(storage, encryption), key=lambda each: len(each.removed))
    file = getattr(second, group)[0] if group in ("files", "removed") else first.groups[group][0]
    path = Path(storage.root) / file.name
    other = Path(storage.root) / second.groups["minmax:x"][0].name
    content = {"another's": other.read_bytes(), "cut": path.read_bytes()[:-20]}
    path.unlink()
    if damage != "gone":
        path.write_bytes(content[damage])
    done = refresh(table, storage, encryption)
    assert caplog.messages == [f"{file.name}: is gone or damaged; what it held was collected anew"]
    # Which files there are, and which are dead, is told by none of the others.
    assert done.in_full == (group in ("files", "removed"))
    assert done.collected_files == (8 if done.in_full else 3)
    assert known(lake, storage, encryption) == lake.expected(table.files, "x", "y")
    assert refresh(table, storage, encryption).version == done.version
