"""How much of indexes and of files a query reads: blocks of even bytes, limits, covering indexes, footers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from secondary_tables import CLOCK
from starskip.indexes.secondary import open_table, run_files
from starskip.indexes.secondary.build_run import build_run
from starskip.indexes.secondary.entries import addresses_of
from starskip.indexes.secondary.lifecycle import create_indexes, existing_indexes
from starskip.indexes.secondary.run_files import paired
from starskip.indexes.secondary.run_reader import RunReader
from starskip.indexes.secondary.secondary_index import secondary_index

ROWS = 60_000


def put(path: Path, rows: pa.Table, tick: int = 0, row_group_size: int = 1_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=row_group_size, write_page_index=True)
    os.utime(path, (1_700_000_000 + tick, 1_700_000_000 + tick))


def runs_of(folder: Path, specification: str) -> list[RunReader]:
    metadata = existing_indexes(str(folder))
    return [
        RunReader(metadata.storage, rows, blocks)
        for segment in metadata.segments.values()
        for rows, blocks in paired(segment.groups[specification])
    ]


def stored(run: RunReader, block: int) -> int:
    group = run._opened.metadata.row_group(block)
    return sum(group.column(at).total_compressed_size for at in range(group.num_columns))


def test_blocks_have_even_bytes_whatever_their_rows_have(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = {
        "few": random.integers(0, 300, ROWS),
        "many": random.integers(0, 1 << 40, ROWS),
        "long": [f"{each:09}" + "y" * 300 for each in random.integers(0, 10**9, ROWS).tolist()],
        "message": [f"request {each} of {each % 977}" for each in range(ROWS)],
    }
    put(tmp_path / "a.parquet", pa.table(rows))
    indexes = [f"btree:{name}" for name in ("few", "many", "long")] + ["ngram:message"]
    create_indexes(str(tmp_path), indexes, clock=CLOCK)
    for index in indexes:
        (run,) = runs_of(tmp_path, index)
        most = run_files.BLOCK_BYTES if index.startswith("btree") else run_files.BLOCK_BYTES // 4
        sizes = [stored(run, each) for each in range(run.row_groups)]
        assert max(sizes) < 1.5 * most, index
        # Neither is cut finer than that, but where rows end it.
        assert np.median(sizes) > most / 4 or run.bounds.num_rows < 3, (index, sizes)
        assert run.row_groups == run.bounds.num_rows


def test_null_is_a_block_of_its_own_and_older_runs_have_it_in_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[Any] = [None if each % 5 == 0 else each % 1_000 for each in range(20_000)]
    index = secondary_index("btree:n")
    run = build_run(index, [pa.array(keys)], addresses_of(0, np.arange(len(keys))), stop_share=0.3)
    starts = run_files.block_starts(index, run)
    assert starts[-1] == run.num_rows - 1
    counts = {}
    sound = run_files._encoded

    def of_older_versions(rows: pa.Table, starts: Any) -> bytes:
        return sound(rows, starts[:-1] if "key" in rows.column_names else starts)

    for name, encoded in (("new", sound), ("old", of_older_versions)):
        monkeypatch.setattr(run_files, "_encoded", encoded)
        put(tmp_path / name / "a.parquet", pa.table({"n": pa.array(keys, pa.int64())}))
        create_indexes(str(tmp_path / name), ["btree:n"], clock=CLOCK)
        (reader,) = runs_of(tmp_path / name, "btree:n")
        counts[name] = reader.row_groups, reader.entries
    assert counts["old"] == (counts["new"][0] - 1, counts["new"][1])
    for where, expected in (("n IS NULL", 4_000), ("n >= 999", 20), ("n < 7", 100)):
        for name in counts:
            answer = open_table(str(tmp_path / name)).answer(where, is_count=True, path=["btree:n"])
            assert answer.count == expected, (name, where)
