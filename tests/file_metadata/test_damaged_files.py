"""Files that cannot be read: warned of, left out, and tried again, while the others are indexed.

A changed bit in a footer of the metadata: told in one line, of encrypted files, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flipped_footers import flipped_footers
from starskip.errors import SourceError, StorageError
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.table_files import DamagedFiles
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.lake.parquet.footer_bounds import FooterColumn, footer_bounds
from starskip.storage import checked_parquet
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey

KEYS = Keyring({"pii": LocalKey(b"p" * 32), "listing": LocalKey(b"l" * 32)})
ENCRYPTION = {
    "plain": Encryption(Keyring()),
    "encrypted": Encryption(KEYS, {"minmax:x": "pii", "minmax:y": "pii"}, "listing"),
}
GROUPS = ("minmax:x", "files")


def damage(monkeypatch: pytest.MonkeyPatch, table: Any, reasons: Mapping[str, str], at_once: int = 1) -> None:
    """Have the table's reader find some damaged files at a time when it has written what it collected."""
    collect = table.collect

    def found(order: Any, aside: Any) -> Any:
        collection = collect(order, aside)
        met = [path for path in order.files["path"].to_pylist() if path in reasons]
        if met:
            raise DamagedFiles({path: reasons[path] for path in met[:at_once]})
        return collection

    monkeypatch.setattr(table, "collect", found)


@pytest.mark.parametrize("at_once", [1, 20])
def test_damaged_files_are_warned_of_and_tried_again(
    lake: Any,
    storage: Any,
    table: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    at_once: int,
) -> None:
    damaged = {"file:/t/b": "cut short", "file:/t/d": "garbage"}
    good = {path: file for path, file in table.files.items() if path not in damaged}
    with monkeypatch.context() as until_mended:
        damage(until_mended, table, damaged, at_once)
        done = table.refresh(storage, "x", "y")
        assert (done.version, done.files, done.collected_files) == (1, 4, 2)
        assert done.damaged_files == tuple(damaged)
        assert [record.name for record in caplog.records] == ["starskip.skipping"] * 2
        assert caplog.messages == [
            "file:/t/b: left out, cannot be read: cut short",
            "file:/t/d: left out, cannot be read: garbage",
        ]
        assert lake.known(storage) == lake.expected(good, "x", "y")
        again = table.refresh(storage)
        assert (again.version, again.collected_files, again.unchanged_files) == (1, 0, 2)
        assert again.damaged_files == tuple(damaged)
    # What the passes wrote that met damaged files is nobody's.
    named = {
        file.name
        for segment in existing_metadata(storage).segments.values()
        for file in segment.to_part().files
    }
    data = {found.name for found in storage.objects_below("") if "/data/" in found.name}
    assert named < data
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert {found.name for found in storage.objects_below("") if "/data/" in found.name} == named
    assert table.refresh(storage).damaged_files == ()
    assert lake.known(storage) == lake.expected(table.files, "x", "y")


def test_ten_damaged_files_are_named_and_the_others_counted(
    lake: Any, storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = dict(table.files)
    damaged = {f"file:/t/z{number:02d}": "garbage" for number in range(37)}
    table.files |= {path: lake.File((1,)) for path in damaged}
    damage(monkeypatch, table, damaged, at_once=100)
    assert len(table.refresh(storage, "x").damaged_files) == 37
    assert len(caplog.messages) == 11
    assert caplog.messages[-1] == "27 more damaged files left out"
    assert lake.known(storage) == lake.expected(good, "x")


@pytest.mark.parametrize(("damaged_files", "is_error"), [(20, False), (21, True)])
def test_so_many_damaged_files_are_found_one_by_one(
    lake: Any,
    storage: Any,
    table: Any,
    monkeypatch: pytest.MonkeyPatch,
    damaged_files: int,
    is_error: bool,
) -> None:
    damaged = {f"file:/t/z{number:02d}": "garbage" for number in range(damaged_files)}
    table.files |= {path: lake.File((1,)) for path in damaged}
    damage(monkeypatch, table, damaged)
    if is_error:
        with pytest.raises(SourceError, match=r"file:/t/z00: cannot be read: garbage; nor can 20 more"):
            table.refresh(storage, "x")
        assert read_metadata(storage) is None
    else:
        assert len(table.refresh(storage, "x").damaged_files) == 20


def test_a_table_of_damaged_files_alone_is_an_error(
    storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    damage(monkeypatch, table, dict.fromkeys(table.files, "garbage"))
    with pytest.raises(SourceError, match=r"^file:/t/a: cannot be read: garbage; nor can 3 more$"):
        table.refresh(storage, "x")
    assert read_metadata(storage) is None
    assert caplog.messages == []


def test_what_was_known_of_a_file_goes_with_it(
    lake: Any, storage: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/a"] = lake.File((1,), version=1)
    del table.files["file:/t/c"]
    # Of this one an index is known, for which other parts of it are read than for a further one.
    damage(monkeypatch, table, {"file:/t/a": "cut short", "file:/t/b": "garbage"})
    done = table.refresh(storage, "y")
    assert done.damaged_files == ("file:/t/a", "file:/t/b")
    assert (done.unchanged_files, done.gone_files) == (1, 1)
    assert lake.known(storage) == lake.expected({"file:/t/d": table.files["file:/t/d"]}, "x", "y")
    assert table.refresh(storage, in_full=True).damaged_files == ("file:/t/a", "file:/t/b")
    assert lake.known(storage) == lake.expected({"file:/t/d": table.files["file:/t/d"]}, "x", "y")


def test_an_overtaken_attempt_warns_of_nothing(
    lake: Any,
    storage: Any,
    table: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/new"] = lake.File((7,))
    table.files["file:/t/bad"] = lake.File((8,))

    def meanwhile() -> None:
        other = lake.Table({path: file for path, file in table.files.items() if path != "file:/t/bad"})
        other.refresh(storage)
        optimize_metadata(storage, lake.commit())

    table.meanwhile = meanwhile
    damage(monkeypatch, table, {"file:/t/bad": "garbage"})
    assert table.refresh(storage, "y").damaged_files == ("file:/t/bad",)
    assert caplog.messages == ["file:/t/bad: left out, cannot be read: garbage"]
    del table.files["file:/t/bad"]
    assert lake.known(storage) == lake.expected(table.files, "x", "y")


def test_files_that_do_not_end_as_parquet_files_are_damaged(tmp_path: Path) -> None:
    good = tmp_path / "good.parquet"
    pq.write_table(pa.table({"c": [1, 2]}), good)
    whole = good.read_bytes()
    beyond = whole[:-8] + (len(whole) - 11).to_bytes(4, "little") + b"PAR1"
    contents = {
        "good": (whole, 2, False),
        "cut": (whole[: len(whole) // 2], None, True),
        "garbage": (b"garbage" * 300, None, True),
        "short": (b"PAR1", None, True),
        "beyond": (beyond, None, True),
        "none": (b"", 0, False),
        # Another reader may understand more.
        "footer": (whole[:-40] + b"\x99" * 32 + whole[-8:], None, False),
        "encrypted": (whole[:-4] + b"PARE", None, False),
    }
    paths: list[str | None] = [None, str(tmp_path / "gone")]
    for name, (content, _, _) in contents.items():
        (tmp_path / name).write_bytes(content)
        paths.append(str(tmp_path / name))
    found = footer_bounds(paths, [FooterColumn(("c",), pa.int64())])
    assert found.rows.to_pylist() == [None, None, *(rows for _, rows, _ in contents.values())]
    assert found.damaged.to_pylist() == [False, False, *(damaged for _, _, damaged in contents.values())]
    assert footer_bounds([], []).damaged.to_pylist() == []


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
