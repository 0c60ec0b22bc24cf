"""Encrypted metadata: who reads what with which keys, what stays as it is, and what is never written."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from starskip.errors import ConfigError, StorageError
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.describe_metadata import describe_metadata
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.open_metadata import existing_metadata, metadata_chain
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.parquet_store import ParquetStore
from starskip.file_metadata.rotate_keys import NamedKey, rotate_keys
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import KeyServiceOutage, LocalKey

PII, LISTING, OTHER = LocalKey(b"p" * 32), LocalKey(b"l" * 32), LocalKey(b"o" * 32)
NONE = Keyring()
KEYS = Keyring({"pii": PII})
ALL = Keyring({"pii": PII, "listing": LISTING})
WRONG = Keyring({"pii": OTHER, "listing": OTHER})
SECRET = 0x1122334455667788
"""A value whose bytes nothing else has."""


def created(table: Any, storage: Any, keyring: Keyring = KEYS, listing: str | None = None) -> None:
    table.refresh(storage, "x", "y", encryption=Encryption(keyring, {"minmax:y": "pii"}, listing))


def refreshed(table: Any, storage: Any, keyring: Keyring, **options: Any) -> Any:
    return table.refresh(storage, encryption=Encryption(keyring), **options)


def names(storage: Any, keyring: Keyring) -> list[str]:
    return [each.specification for each in existing_metadata(storage, keyring=keyring).indexes]


def bytes_written(storage: Any) -> bytes:
    return b"".join(path.read_bytes() for path in Path(storage.root).rglob("*") if path.is_file())


def test_whoever_lacks_a_key_has_the_other_indexes(lake: Any, storage: Any, table: Any) -> None:
    created(table, storage)
    assert lake.known(storage, KEYS) == lake.expected(table.files, "x", "y")
    for keyring, why in ((NONE, "is missing"), (WRONG, "is not the key")):
        assert lake.known(storage, keyring) == lake.expected(table.files, "x")
        metadata = existing_metadata(storage, keyring=keyring)
        (locked,) = metadata.unlocked.locked
        assert (locked.name, locked.indexes, locked.listing) == ("pii", ("minmax:y",), False)
        assert why in locked.means("not used") and locked.means("not used").endswith("not used: minmax:y")
        assert metadata.state.active == ("minmax:x", "minmax:y")


def test_a_key_service_that_is_silent_or_broken_locks_its_indexes_alone(
    lake: Any, storage: Any, table: Any
) -> None:
    class Service:
        def __init__(self, error: Exception) -> None:
            self.error = error

        def wrap(self, _: Any) -> Any:
            raise self.error

        unwrap = wrap

    created(table, storage)
    for error in (KeyServiceOutage("it does not answer"), RuntimeError("a bug of theirs")):
        keyring = Keyring({"pii": Service(error)})
        assert lake.known(storage, keyring) == lake.expected(table.files, "x")
        (locked,) = existing_metadata(storage, keyring=keyring).unlocked.locked
        assert str(error) in locked.why


def test_no_value_nor_file_name_is_written_in_plain(lake: Any, storage: Any, table: Any) -> None:
    table.files = {f"file:/t/region=secret-{name}": lake.File((SECRET,)) for name in "abc"}
    table.refresh(storage, "x")
    plain = bytes_written(storage)
    assert SECRET.to_bytes(8, "little") in plain and b"secret-a" in plain, "the search would find it"
    shutil.rmtree(storage.root)
    both = {"minmax:x": "pii", "minmax:y": "pii"}
    table.refresh(storage, "x", "y", encryption=Encryption(ALL, both, "listing"))
    table.files["file:/t/region=secret-d"] = lake.File((SECRET,))
    refreshed(table, storage, ALL)
    optimize_metadata(storage, lake.commit(), keyring=ALL)
    assert lake.known(storage, ALL) == lake.expected(table.files, "x", "y")
    written = bytes_written(storage)
    assert SECRET.to_bytes(8, "little") not in written and SECRET.to_bytes(8, "big") not in written
    assert b"secret-" not in written and str(SECRET).encode() not in written
    assert all(secret * 8 not in written for secret in (b"p", b"l"))


def test_a_refresh_without_a_key_leaves_its_index_alone(
    lake: Any, storage: Any, table: Any, caplog: pytest.LogCaptureFixture
) -> None:
    created(table, storage)
    old = dict(table.files)
    table.files["file:/t/new"] = lake.File((7, 9))
    for keyring in (NONE, WRONG):
        with caplog.at_level(logging.WARNING):
            done = refreshed(table, storage, keyring)
        told = [record.getMessage() for record in caplog.records if "pii" in record.getMessage()]
        assert len(told) == 1 and "left as it is" in told[0] and "minmax:y" in told[0]
        assert done.indexes == ("minmax:x",)
        caplog.clear()
    assert lake.known(storage, NONE) == lake.expected(table.files, "x")
    known = lake.known(storage, KEYS)
    assert known["file:/t/new"][3] == {"minmax:x": (7, 9, 2), "minmax:y": (None, None, None)}
    assert {path: known[path] for path in old} == lake.expected(old, "x", "y")
    refreshed(table, storage, KEYS)
    assert table.read == ["file:/t/new"]
    assert lake.known(storage, KEYS) == lake.expected(table.files, "x", "y")


def test_a_full_refresh_without_a_key_keeps_what_is_locked(lake: Any, storage: Any, table: Any) -> None:
    created(table, storage)
    refreshed(table, storage, NONE, in_full=True)
    assert sorted(table.read) == sorted(table.files)
    assert lake.known(storage, KEYS) == lake.expected(table.files, "x", "y")
    # What a full refresh is for: another schema, by which nothing that is stored counts any more.
    table.fingerprint = "two"
    refreshed(table, storage, NONE)
    assert lake.known(storage, NONE) == lake.expected(table.files, "x")
    refreshed(table, storage, KEYS)
    assert lake.known(storage, KEYS) == lake.expected(table.files, "x", "y")


def test_locked_names_of_files_stop_a_refresh_and_no_reader(
    lake: Any, storage: Any, table: Any, caplog: pytest.LogCaptureFixture
) -> None:
    created(table, storage, ALL, "listing")
    table.files["file:/t/new"] = lake.File((7, 9))
    done = refreshed(table, storage, KEYS)
    assert (done.version, done.collected_files, table.read) == (1, 0, [])
    assert [record.getMessage() for record in caplog.records if "listing is missing" in record.getMessage()]
    described = describe_metadata(existing_metadata(storage, keyring=KEYS), "there")
    assert (described["rows"], described["files_bytes"], described["files"]) == (None, None, 4)
    assert (described["listing_key"], described["missing_keys"]) == ("listing", ["listing"])
    with pytest.raises(StorageError, match="listing is missing"):
        assert existing_metadata(storage, keyring=KEYS).paths
    with pytest.raises(ConfigError, match="listing is missing"):
        table.refresh(storage, "z", encryption=Encryption(KEYS))
    refreshed(table, storage, ALL)
    assert lake.known(storage, ALL) == lake.expected(table.files, "x", "y")


def test_optimize_keeps_what_it_cannot_read(lake: Any, storage: Any, table: Any) -> None:
    created(table, storage)
    for number, keyring in enumerate((KEYS, NONE, KEYS)):
        table.files[f"file:/t/new{number}"] = lake.File((number, number + 1))
        table.files["file:/t/a"] = lake.File((1, 2), version=number + 1)
        refreshed(table, storage, keyring)
    before = lake.known(storage, KEYS)
    optimize_metadata(storage, lake.commit(), keyring=NONE)
    optimize_metadata(storage, lake.commit(), keyring=WRONG)
    assert lake.known(storage, KEYS) == before == lake.expected(table.files, "x", "y")
    assert optimize_metadata(storage, lake.commit(), keyring=KEYS) is not None
    assert len(existing_metadata(storage, keyring=KEYS).segments) == 1
    assert lake.known(storage, KEYS) == before
    assert lake.known(storage, NONE) == lake.expected(table.files, "x")


def test_a_rotation_rebuilds_nothing(lake: Any, storage: Any, table: Any) -> None:
    created(table, storage, ALL, "listing")
    files = {name for name in (each.name for each in storage.objects_below("")) if name.endswith(".parquet")}
    rotate_keys(storage, NamedKey("pii", PII), NamedKey("pii", OTHER), lake.commit())
    rotate_keys(storage, NamedKey("listing", LISTING), NamedKey("names", PII), lake.commit())
    assert files == {each.name for each in storage.objects_below("") if each.name.endswith(".parquet")}
    after = Keyring({"pii": OTHER, "names": PII})
    assert lake.known(storage, after) == lake.expected(table.files, "x", "y")
    assert names(storage, Keyring({"pii": PII, "names": PII})) == ["minmax:x"]
    with pytest.raises(ConfigError, match="key pii is not the key"):
        rotate_keys(storage, NamedKey("pii", PII), NamedKey("pii", OTHER), lake.commit())
    with pytest.raises(ConfigError, match="has no key listing; there are: names, pii"):
        rotate_keys(storage, NamedKey("listing", LISTING), NamedKey("pii", OTHER), lake.commit())
    with pytest.raises(ConfigError, match="key pii is not the key"):
        rotate_keys(storage, NamedKey("names", PII), NamedKey("pii", LISTING), lake.commit())
    table.files["file:/t/new"] = lake.File((7, 9))
    refreshed(table, storage, after)
    assert lake.known(storage, after) == lake.expected(table.files, "x", "y")


def test_a_writer_whose_key_was_rotated_meanwhile_plans_again(lake: Any, storage: Any, table: Any) -> None:
    created(table, storage)
    table.files["file:/t/new"] = lake.File((7, 9))
    table.meanwhile = lambda: rotate_keys(
        storage, NamedKey("pii", PII), NamedKey("pii", OTHER), lake.commit()
    )
    refreshed(table, storage, KEYS)
    new = Keyring({"pii": OTHER})
    assert names(storage, new) == ["minmax:x", "minmax:y"]
    refreshed(table, storage, new)
    assert lake.known(storage, new) == lake.expected(table.files, "x", "y")


def test_a_file_in_the_place_of_another_is_found_out(lake: Any, storage: Any, table: Any) -> None:
    both = {"minmax:x": "pii", "minmax:y": "pii"}
    table.bytes_per_file = 1
    table.rows_per_batch = 2
    table.refresh(storage, "x", "y", encryption=Encryption(ALL, both, "listing"))
    (segment,) = existing_metadata(storage, keyring=ALL).segments.values()
    x, second, *_ = segment.groups["minmax:x"]
    y = segment.groups["minmax:y"][0]
    root = Path(storage.root)
    kept = (root / x.name).read_bytes()
    # Another index's file, another part of the same index, a plain file, and a part of it.
    rows = existing_metadata(storage, keyring=ALL).store.read([x], ["min", "max", "values"])
    pq.write_table(rows, root / "plain.parquet")
    others = [(root / name).read_bytes() for name in (y.name, second.name, "plain.parquet")]
    for content in (*others, kept[:-9]):
        (root / x.name).write_bytes(content)
        with pytest.raises(StorageError, match="gone or damaged"):
            existing_metadata(storage, keyring=ALL).column("minmax:x", "min")
    (root / x.name).write_bytes(kept)
    former = segment.files[0]
    refreshed(table, storage, ALL, in_full=True)
    (segment,) = existing_metadata(storage, keyring=ALL).segments.values()
    # A former version's.
    (root / segment.files[0].name).write_bytes((root / former.name).read_bytes())
    with pytest.raises(StorageError, match="gone or damaged"):
        assert existing_metadata(storage, keyring=ALL).sizes.size


def test_an_index_is_encrypted_afterwards_and_stays_so(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x", "y")
    table.refresh(storage, "y", encryption=Encryption(KEYS, {"minmax:y": "pii"}))
    assert names(storage, NONE) == ["minmax:x"]
    assert lake.known(storage, KEYS) == lake.expected(table.files, "x", "y")
    # Created again, or restored, without a word of keys.
    with pytest.raises(ConfigError, match="key pii is missing"):
        table.refresh(storage, "y", encryption=Encryption(NONE))
    with pytest.raises(ConfigError, match="key pii is not the one"):
        table.refresh(storage, "y", encryption=Encryption(WRONG))
    with pytest.raises(ConfigError, match="key pii is not the one"):
        table.refresh(storage, "z", encryption=Encryption(WRONG, {"minmax:z": "pii"}))
    change_indexes(storage, ["minmax:y"], lake.commit(), active=False)
    table.refresh(storage, "y", encryption=Encryption(KEYS))
    assert names(storage, NONE) == ["minmax:x"]
    # Under another key, which needs not the former one.
    table.refresh(storage, "y", encryption=Encryption(Keyring({"new": OTHER}), {"minmax:y": "new"}))
    assert lake.known(storage, Keyring({"new": OTHER})) == lake.expected(table.files, "x", "y")
    table.refresh(storage, "x", encryption=Encryption(Keyring({"new": OTHER, "l": LISTING}), {}, "l"))
    keyring = Keyring({"new": OTHER, "l": LISTING})
    assert lake.known(storage, keyring) == lake.expected(table.files, "x", "y")
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert lake.known(storage, keyring) == lake.expected(table.files, "x", "y")
    assert b"file:/t/a" not in bytes_written(storage)


def test_plain_metadata_is_what_it_was(storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    manifest = metadata_chain(storage).latest()
    assert manifest is not None
    assert manifest.parts["table"].properties["format_version"] == 1
    assert all("keys" not in part.properties for part in manifest.parts.values())


def test_a_store_that_does_not_encrypt_refuses(
    storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ParquetStore, "encrypts", False)
    with pytest.raises(ConfigError, match="this store does not encrypt"):
        created(table, storage)
    table.refresh(storage, "x")


def test_a_refresh_of_locked_indexes_alone_changes_nothing(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "y", encryption=Encryption(KEYS, {"minmax:y": "pii"}))
    table.files["file:/t/new"] = lake.File((7, 9))
    done = refreshed(table, storage, NONE)
    assert (done.version, done.collected_files, table.read) == (1, 0, [])
    change_indexes(storage, None, lake.commit(), active=False)
    assert refreshed(table, storage, NONE).collected_files == 1
