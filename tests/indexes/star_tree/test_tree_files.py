"""Files of rows: what is written is read, and a file that was changed or lost is named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from starskip.errors import StorageError
from starskip.indexes.star_tree.build.dimension_values import ChunkValues
from starskip.indexes.star_tree.build.source_table import source_table
from starskip.indexes.star_tree.build.tree_files import read_rows, write_rows
from starskip.indexes.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.staged_write import StagedWrite

ROWS = pa.table({"a": list(range(300)), "b.c": [str(number % 7) for number in range(300)]})


@pytest.fixture
def aside(trees: Any) -> StagedWrite:
    return ArtefactStore(trees.MemoryStorage()).staged_write(ARTEFACT, CURRENT)


def changed_bits(aside: StagedWrite, name: str, columns: list[str]) -> int:
    """Return for how many of many changed bits the reader says so; any other must change nothing."""
    objects = aside.storage.objects
    whole, expected, told = objects[name], read_rows(aside.storage, name, columns), 0
    for position in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        objects[name] = bytes(changed)
        try:
            assert read_rows(aside.storage, name, columns, rows=expected.num_rows).equals(expected)
        except StorageError as error:
            assert str(error) == f"{name}: is gone or damaged; build the tree again"
            told += 1
    return told


def test_columns_come_in_the_order_in_which_they_are_asked_for(aside: StagedWrite) -> None:
    name = write_rows(aside, "t", "x.parquet", ROWS).name
    assert read_rows(aside.storage, name) == ROWS
    assert read_rows(aside.storage, name, ["b.c", "a"], rows=300) == ROWS.select(["b.c", "a"])


def test_a_changed_bit_is_told_or_changes_nothing(aside: StagedWrite) -> None:
    assert changed_bits(aside, write_rows(aside, "t", "x.parquet", ROWS).name, ["a", "b.c"]) > 20


def test_a_changed_bit_of_what_tasks_write_for_one_another_is_told(aside: StagedWrite, tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(str(number * 1_000_003) for number in range(400)))
    source = source_table(str(tmp_path / "t.csv"))
    (chunk,) = source.chunks(1000)
    assert changed_bits(aside, ChunkValues(aside, "t", source, ("a",))(chunk).name, ["a"]) > 20


@pytest.mark.parametrize(("columns", "rows"), [(["a"], 299), (["other"], None)])
def test_a_file_of_other_rows_or_columns_is_damaged(
    aside: StagedWrite, columns: list[str], rows: int | None
) -> None:
    name = write_rows(aside, "t", "x.parquet", ROWS).name
    with pytest.raises(StorageError, match=r"x\.parquet: is gone or damaged; build the tree again"):
        read_rows(aside.storage, name, columns, rows=rows)


def test_a_file_that_is_gone_is_named(aside: StagedWrite) -> None:
    with pytest.raises(StorageError, match=r"other\.parquet: is gone or damaged"):
        read_rows(aside.storage, "other.parquet")
