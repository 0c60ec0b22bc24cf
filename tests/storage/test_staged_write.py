from __future__ import annotations

import pickle
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.errors import StorageError
from starskip.storage import staged_write
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.staged_write import file_safe


def test_stream_of_batches_becomes_bounded_files(
    store: ArtefactStore, support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = store.staged_write("numbers", support.NIGHT)
    batches = (support.numbers("a", number, rows=100).to_batches()[0] for number in range(50))
    batch_bytes = support.numbers("a", 0, rows=100).nbytes
    monkeypatch.setattr(staged_write, "BYTES_PER_FILE", 10 * batch_bytes)
    files = aside.write("a", batches)
    assert [file.rows for file in files] == [1000] * 5
    store.publish("numbers", support.NIGHT, {"a": Part(files)}, replace="all", **support.CREATED)
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    expected = [number for number in range(50) for _ in range(100)]
    assert snapshot.read_table()["generation"].to_pylist() == expected


def test_columns_come_in_the_order_and_type_of_the_schema(
    store: ArtefactStore, support: SimpleNamespace
) -> None:
    aside = store.staged_write("numbers", support.NIGHT)
    turned = pa.table({"generation": pa.array([1, 2], pa.int8()), "table": ["a", "a"]})
    store.publish(
        "numbers", support.NIGHT, {"a": Part(aside.write("a", turned))}, replace="all", **support.CREATED
    )
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    assert snapshot.read_table().schema == support.NUMBERS


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (pa.table({"table": ["a"]}), "numbers: column generation is missing"),
        (pa.table({"table": pa.array([], pa.string())}), "numbers: column generation is missing"),
        (
            pa.table({"table": ["a"], "generation": [1], "extra": [1]}),
            "numbers: column extra is not in its schema",
        ),
        (
            pa.table({"table": ["a"], "generation": ["x"]}),
            "numbers: column generation does not hold int64",
        ),
        (
            pa.table([["a"], [1], [2]], names=["table", "generation", "generation"]),
            "numbers: column generation does not hold int64: occurs twice",
        ),
    ],
)
def test_rows_that_do_not_fit_the_schema(
    rows: pa.Table, complaint: str, store: ArtefactStore, support: SimpleNamespace
) -> None:
    with pytest.raises(StorageError, match=complaint):
        store.staged_write("numbers", support.NIGHT).write("a", rows)


def test_no_rows_give_no_file(store: ArtefactStore, support: SimpleNamespace) -> None:
    assert store.staged_write("numbers", support.NIGHT).write("a", support.NUMBERS.empty_table()) == ()
    assert store.staged_write("numbers", support.NIGHT).write("a", []) == ()


def test_executor_gets_the_folder_by_pickle(store: ArtefactStore, support: SimpleNamespace) -> None:
    aside = pickle.loads(pickle.dumps(store.staged_write("numbers", support.NIGHT)))
    once = aside.write("a", support.numbers("a", 1))
    again = aside.write("a", support.numbers("a", 1))
    assert once[0].name != again[0].name, "a task that ran twice must not meet its own file"


def test_artefact_without_a_schema_holds_plain_files(store: ArtefactStore, support: SimpleNamespace) -> None:
    aside = store.staged_write("report", support.NIGHT)
    with pytest.raises(StorageError, match="report: has no schema"):
        aside.write("a", support.numbers("a", 1))
    page = aside.write_file("a", "report.html", b"<p>")
    store.publish("report", support.NIGHT, {"a": Part((page,))}, replace="tables", **support.CREATED)
    snapshot = store.snapshot("report", support.NIGHT)
    assert snapshot is not None
    assert snapshot.read_file(snapshot.parts()["a"].files[0]) == b"<p>"
    with pytest.raises(StorageError, match="report: holds plain files"):
        snapshot.row_schema()


@example(["a/b", "a:b"])
@example(["Sales", "sales"])
@example(["x" * 300 + "1", "x" * 300 + "2"])
@given(st.lists(st.text(st.characters()), unique=True, min_size=2, max_size=2))
def test_any_table_name_gives_a_harmless_file_name_of_its_own(tables: list[str]) -> None:
    names = [file_safe(table) for table in tables]
    assert names[0].lower() != names[1].lower()
    for name in names:
        assert name.isascii()
        assert len(name) <= 93
        assert not set(name) & set("/\\\0%*?[]{}:= ")
        assert name.startswith("t-")  # Spark and Hive leave out names that start with a dot or underscore


@pytest.mark.parametrize("table", ["../../etc/passwd", "a" * 1_000_000, "", ".", "\ud800", "таблица", "a\nb"])
def test_hostile_table_names_stay_inside(
    table: str, local_store: ArtefactStore, local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    aside = local_store.staged_write("numbers", support.NIGHT)
    files = aside.write(table, support.numbers("x", 1))
    local_store.publish("numbers", support.NIGHT, {table: Part(files)}, replace="all", **support.CREATED)
    snapshot = local_store.snapshot("numbers", support.NIGHT)
    assert snapshot is not None
    assert snapshot.tables == (table,)
    assert snapshot.read_table([table]).num_rows == 3
    assert list(local_storage.root.parent.iterdir()) == [local_storage.root]
