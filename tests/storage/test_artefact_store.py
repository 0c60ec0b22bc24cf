from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.storage import schemas
from starskip.storage.artefact_store import SCHEMAS, ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import DataFile, Part
from starskip.storage.storage import Storage

generations = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 99), max_size=4)


def test_nothing_published_yet(store: ArtefactStore, support: SimpleNamespace) -> None:
    assert store.snapshot("numbers", support.NIGHT) is None
    assert store.run_dates("numbers") == ()
    assert store.artefacts() == ()


@given(generations, generations)
def test_publishing_tables_replaces_exactly_those_tables(
    support: SimpleNamespace, before: dict[str, int], published: dict[str, int]
) -> None:
    store = support.store_on(support.MemoryStorage())
    support.publish(store, before)
    support.publish(store, before, night="2026-11-17")
    old = store.snapshot("numbers", support.NIGHT).parts()
    support.publish(store, published)
    new = store.snapshot("numbers", support.NIGHT).parts()
    assert {table: part.properties["generation"] for table, part in new.items()} == before | published
    for table in set(before) - set(published):
        assert new[table] == old[table]
    assert set(store.snapshot("numbers", "2026-11-17").tables) == set(before)


@given(generations, generations)
def test_publishing_all_replaces_the_whole_night(
    support: SimpleNamespace, before: dict[str, int], published: dict[str, int]
) -> None:
    store = support.store_on(support.MemoryStorage())
    support.publish(store, before)
    support.publish(store, published, replace="all")
    assert set(store.snapshot("numbers", support.NIGHT).tables) == set(published)


def test_rows_of_another_table_are_told(store: ArtefactStore, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1, "b": 2})
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    a, b = (snapshot.parts()[table].files[0].name for table in "ab")
    content = store.storage.read(b)
    store.storage.delete(a)
    store.storage.put_if_absent(a, content)
    with pytest.raises(StorageError, match=f"{a}: is damaged; run the step that wrote it again"):
        snapshot.read_table()
    assert snapshot.read_table(["b"])["generation"].to_pylist() == [2] * 3


def test_reader_keeps_what_it_saw_first(store: ArtefactStore, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1, "b": 1})
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    support.publish(store, {"a": 2, "b": 2}, replace="all")
    assert snapshot.read_table()["generation"].to_pylist() == [1] * 6
    assert support.seen(store) == {"a": 2, "b": 2}


def test_tables_and_columns_of_choice(store: ArtefactStore, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1, "b": 2, "c": 3})
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    assert snapshot.read_table(["c", "a", "unknown"], ["generation"]).to_pydict() == {
        "generation": [1, 1, 1, 3, 3, 3]
    }
    assert set(snapshot.parts(["b"])) == {"b"}
    doubled = {"doubled": pc.field("generation") + pc.field("generation")}
    assert [batch.to_pydict() for batch in snapshot.batches(["b"], doubled, 2)] == [
        {"doubled": [4, 4]},
        {"doubled": [4]},
    ]


def test_night_without_rows_still_has_columns(store: ArtefactStore, support: SimpleNamespace) -> None:
    store.publish("numbers", support.NIGHT, {"a": Part(())}, replace="all", **support.CREATED)
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    assert snapshot.tables == ("a",)
    assert snapshot.read_table() == support.NUMBERS.empty_table()


def test_nights_are_listed_oldest_first(store: ArtefactStore, support: SimpleNamespace) -> None:
    for night in ("2026-11-18", "2025-12-31", "2026-02-01"):
        support.publish(store, {"a": 1}, night=night)
    store.staged_write("numbers", "2026-03-01").write("a", support.numbers("a", 1))
    assert store.run_dates("numbers") == ("2025-12-31", "2026-02-01", "2026-11-18")
    assert store.artefacts() == ("numbers",)


@pytest.mark.parametrize(("artefact", "run_date"), [("../x", "2026-11-18"), ("queries", ""), ("a/b", "x")])
def test_names_that_are_none(store: ArtefactStore, artefact: str, run_date: str) -> None:
    with pytest.raises(StorageError, match="not the name of an artefact or a night"):
        store.snapshot(artefact, run_date)


def test_file_that_is_not_in_the_store_is_not_published(
    store: ArtefactStore, support: SimpleNamespace
) -> None:
    support.publish(store, {"a": 1})
    (file,) = store.staged_write("numbers", support.NIGHT).write("a", support.numbers("a", 2))
    for wrong in (
        DataFile(file.name, file.size_bytes + 1, 3),
        DataFile("numbers/2026-11-17/data/x", file.size_bytes, 3),
        DataFile("../x", 1, 1),
    ):
        with pytest.raises(StorageError, match="is not in the store as it was written"):
            store.publish(
                "numbers", support.NIGHT, {"a": Part((wrong,))}, replace="tables", **support.CREATED
            )
    assert support.seen(store) == {"a": 1}


def test_column_that_an_older_version_did_not_write(
    store: ArtefactStore, storage: Storage, support: SimpleNamespace
) -> None:
    support.publish(store, {"a": 1})
    newer = ArtefactStore(storage, {"numbers": support.NUMBERS.append(pa.field("added", pa.int64()))})
    snapshot = newer.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    with pytest.raises(StorageError, match="numbers: column added is missing in numbers/2026-11-18/data/"):
        snapshot.read_table()


def test_data_file_is_gone_or_damaged(
    local_store: ArtefactStore, local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    support.publish(local_store, {"a": 1})
    snapshot = local_store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    (file,) = snapshot.parts()["a"].files
    path = local_storage.root / file.name
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(StorageError, match="is damaged; run the step that wrote it again"):
        snapshot.read_table()
    path.write_bytes(content[:4] + b"\xff" * 20 + content[24:])
    with pytest.raises(StorageError, match=f"{file.name}: is damaged; run the step that wrote it again"):
        snapshot.read_table()
    path.unlink()
    with pytest.raises(StorageError, match="is named by the manifest but gone"):
        snapshot.read_table()
    with pytest.raises(StorageError, match="is named by the manifest but gone"):
        snapshot.read_file(file)


def test_every_schema_is_known_under_its_artefacts_name() -> None:
    assert SCHEMAS["queries"] is schemas.QUERIES
    assert SCHEMAS["table_facts"] is schemas.TABLE_FACTS
    assert all(isinstance(schema, pa.Schema) for schema in SCHEMAS.values())


def test_rows_of_a_real_schema_come_back(storage: Storage, support: SimpleNamespace) -> None:
    store = ArtefactStore(storage)
    row = dict.fromkeys(schemas.TABLE_FACTS.names) | {"table": "a", "index_bytes": [("dictionary", 5)]}
    rows = pa.Table.from_pylist([row], schemas.TABLE_FACTS)
    files = store.staged_write("table_facts", support.NIGHT).write("a", rows)
    store.publish("table_facts", support.NIGHT, {"a": Part(files)}, replace="all", **support.CREATED)
    snapshot = store.snapshot("table_facts", support.NIGHT)
    assert snapshot is not None
    assert snapshot.read_table() == rows


def test_no_changed_bit_is_another_value(
    local_store: ArtefactStore, local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    aside = local_store.staged_write("numbers", support.NIGHT)
    rows = pa.table({"table": ["a"] * 9_000, "generation": range(9_000)}, schema=support.NUMBERS)
    parts = {"a": Part(aside.write("a", rows))}
    local_store.publish("numbers", support.NIGHT, parts, replace="all", **support.CREATED)
    snapshot = local_store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    (file,) = parts["a"].files
    path = local_storage.root / file.name
    content = path.read_bytes()
    found_damaged = 0
    for position in range(4, len(content), 61):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        try:
            assert snapshot.read_table().equals(rows), position
        except StorageError as error:
            assert str(error).startswith(f"{file.name}: is damaged; run the step that wrote it again")
            assert error.location == file.name
            found_damaged += 1
    assert found_damaged > 100


def test_damaged_page_is_named_wherever_rows_are_read(
    local_store: ArtefactStore, local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    support.publish(local_store, {"a": 1, "b": 2})
    snapshot = local_store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    (file,) = snapshot.parts()["b"].files
    path = local_storage.root / file.name
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 20 + path.read_bytes()[24:])
    engine = LocalEngine()
    assert engine.rows_of_snapshot(snapshot, ["a"], ["generation"]).gather("rows", 9).num_rows == 3
    with pytest.raises(StorageError, match=f"{file.name}: is damaged"):
        engine.rows_of_snapshot(snapshot, ["a", "b"]).gather("rows", 9)
    with pytest.raises(StorageError, match=f"{file.name}: is damaged"):
        list(snapshot.batches())
