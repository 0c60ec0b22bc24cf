"""Files of rows: what is written is read, and a file that was changed or lost is named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from flipped_footers import flipped_footers, footer_start
from starskip.errors import StorageError
from starskip.star_tree.build.dimension_values import ChunkValues
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.build.tree_files import is_damaged, read_rows, write_rows
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

ROWS = pa.table({"a": list(range(300)), "b.c": [str(number % 7) for number in range(300)]})


@pytest.fixture
def aside(trees: Any) -> StagedWrite:
    return ArtefactStore(trees.MemoryStorage()).staged_write(ARTEFACT, CURRENT)


def changed_bits(aside: StagedWrite, file: DataFile, columns: list[str]) -> int:
    """Return for how many of many changed bits the reader says so; any other must change nothing."""
    objects, name = aside.storage.objects, file.name
    whole, expected, told = objects[name], read_rows(aside.storage, file, columns), 0
    for position in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        objects[name] = bytes(changed)
        try:
            assert read_rows(aside.storage, file, columns, rows=expected.num_rows).equals(expected)
            assert position < footer_start(whole)
        except StorageError as error:
            assert str(error) == f"{name}: is gone or damaged; build the tree again"
            told += 1
    return told


def test_columns_come_in_the_order_in_which_they_are_asked_for(aside: StagedWrite) -> None:
    file = write_rows(aside, "t", "x.parquet", ROWS)
    assert read_rows(aside.storage, file) == ROWS
    assert read_rows(aside.storage, file, ["b.c", "a"], rows=300) == ROWS.select(["b.c", "a"])


def test_a_changed_bit_is_told_or_changes_nothing(aside: StagedWrite) -> None:
    assert changed_bits(aside, write_rows(aside, "t", "x.parquet", ROWS), ["a", "b.c"]) > 20


@pytest.mark.parametrize("columns", [None, ["a"]])
def test_each_changed_bit_of_a_footer_is_told(aside: StagedWrite, columns: list[str] | None) -> None:
    file = write_rows(aside, "t", "x.parquet", ROWS)
    for flipped in flipped_footers(aside.storage.objects[file.name]):
        aside.storage.objects[file.name] = flipped
        with pytest.raises(StorageError) as raised:
            read_rows(aside.storage, file, columns)
        assert str(raised.value) == f"{file.name}: is gone or damaged; build the tree again"
        assert is_damaged(aside.storage, file, None)


def test_a_changed_bit_of_what_tasks_write_for_one_another_is_told(aside: StagedWrite, tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(str(number * 1_000_003) for number in range(400)))
    source = source_table(str(tmp_path / "t.csv"))
    (chunk,) = source.chunks(1000)
    assert changed_bits(aside, ChunkValues(aside, "t", source, ("a",))(chunk), ["a"]) > 20


@pytest.mark.parametrize(("columns", "rows"), [(["a"], 299), (["other"], None)])
def test_a_file_of_other_rows_or_columns_is_damaged(
    aside: StagedWrite, columns: list[str], rows: int | None
) -> None:
    file = write_rows(aside, "t", "x.parquet", ROWS)
    with pytest.raises(StorageError, match=r"x\.parquet: is gone or damaged; build the tree again"):
        read_rows(aside.storage, file, columns, rows=rows)


def test_a_file_that_is_gone_is_named(aside: StagedWrite) -> None:
    with pytest.raises(StorageError, match=r"other\.parquet: is gone or damaged"):
        read_rows(aside.storage, DataFile("other.parquet", 1, None))
