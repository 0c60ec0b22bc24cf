"""The one reader of footers: types and row groups, by tasks where files are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet.encryption import create_encryption_properties
from starskip.errors import SourceError
from starskip.lake.parquet import parquet_footers as module
from starskip.lake.parquet.footer_bounds import FooterColumn, footer_bounds
from starskip.lake.parquet.parquet_footers import counted_rows, each_footer, parquet_footers


def test_schema_and_row_groups(tmp_path: Path) -> None:
    rows = pa.table({"a": list(range(5)), "b": pa.array(["x"] * 5).dictionary_encode()})
    pq.write_table(rows.replace_schema_metadata({"k": "v"}), tmp_path / "t.parquet", row_group_size=2)
    (footer,) = parquet_footers([str(tmp_path / "t.parquet")])
    assert (footer.schema, footer.row_group_rows) == (rows.schema, (2, 2, 1))
    assert footer.schema.metadata is None
    assert counted_rows(str(tmp_path / "t.parquet")) == 5


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet file, but of some length"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"t\.parquet: cannot be read"):
        parquet_footers([str(path)])
    assert counted_rows(str(path)) is None
    path.unlink()
    assert counted_rows(str(path)) is None


def test_many_are_read_by_tasks_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW_FOOTERS", 4)
    monkeypatch.setattr(module, "_FOOTERS_PER_TASK", 2)
    paths = [str(tmp_path / f"{number}.parquet") for number in range(5)]
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"a": list(range(number + 1))}), path, row_group_size=100)
    asked: list[int] = []

    def run_tasks(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        asked.extend(map(len, items))
        return [function(item) for item in items]

    found = parquet_footers(paths, run_tasks)
    assert asked == [2, 2, 1]
    assert [sum(footer.row_group_rows) for footer in found] == [1, 2, 3, 4, 5]
    assert len({id(footer.schema) for footer in found}) == 1
    asked.clear()
    assert len(parquet_footers(paths[:4], run_tasks)) == 4 and not asked


@pytest.mark.parametrize("plain_footer", [False, True])
def test_an_encrypted_file_is_unknown_and_not_damaged(tmp_path: Path, plain_footer: bool) -> None:
    path = tmp_path / "encrypted.parquet"
    encryption = create_encryption_properties(b"k" * 32, plaintext_footer=plain_footer)
    pq.write_table(pa.table({"a": [1, 2]}), path, encryption_properties=encryption)
    assert each_footer([str(path)]) == [None]
    assert counted_rows(str(path)) is None
    found = footer_bounds([str(path)], [FooterColumn(("a",), pa.int64())])
    assert (found.rows.to_pylist(), found.damaged.to_pylist()) == ([None], [False])
    with pytest.raises(SourceError, match=r"encrypted\.parquet: cannot be read"):
        parquet_footers([str(path)])
