"""Lists that are read for an engine that reads whole files; no file with a survivor is ever left alone."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from law_cases import law_cases
from secondary_conditions import Truth, random_condition
from secondary_tables import CLOCK, Random, random_table, small_blocks
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.ordered_values import Mask
from starskip.secondary import whole_files
from starskip.secondary.indexed_segments import known_schema
from starskip.secondary.lifecycle import create_indexes, existing_indexes, refresh_indexes
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.surviving_files import Survivors, surviving_files
from starskip.secondary.where_clause import where_expression
from starskip.secondary.whole_files import WholeFileReads

FILES, ROWS = 8, 20_000
LARGE = 1 << 30
"""Bytes of a file as it is made out to have, so that reading any list is cheaper."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TableMetadata:
    """Files that each hold all of ``user`` and ``other``; ``rare`` is 7 in one row of one file."""
    folder = tmp_path_factory.mktemp("table")
    for number in range(FILES):
        at = np.arange(number * ROWS, (number + 1) * ROWS)
        rare = np.where(at == 3 * ROWS + 5, 7, at % 50_000 + 100)
        rows = pa.table({"user": at * 7919 % 20_011, "other": at * 104_729 % 19_997, "rare": rare})
        path = folder / f"{number}.parquet"
        pq.write_table(rows, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    create_indexes(str(folder), ["btree:user", "btree:other", "btree:rare"], clock=CLOCK)
    return existing_indexes(str(folder))


def asked(table: TableMetadata, where: str, files: WholeFileReads | None = None, **changes: Any) -> Survivors:
    condition = where_expression(where, known_schema(table))
    how = None if files is None else lambda: files
    return surviving_files(table, [condition], SecondarySettings(**changes), files=how)


def only(*positions: int) -> Mask:
    found = np.zeros(FILES, np.bool_)
    found[list(positions)] = True
    return found


def test_a_list_is_not_read_that_takes_longer_than_the_files(table: TableMetadata) -> None:
    dear = asked(table, "user >= 0", WholeFileReads(), file_mib_ms=0.01)
    assert (dear.names, dear.entries_read) == ((), {})
    (reason,) = dear.why_not
    assert reason.startswith("btree:user is not used: its 160,000 entries take about ")
    assert reason.endswith(" ms (8 files)")
    assert dear.together() is None
    # The same list is worth it where opening a file takes more, and a short one is in any case.
    assert asked(table, "user = 7", WholeFileReads(open_bytes=LARGE)).names == ("btree:user",)
    assert asked(table, "rare = 7", WholeFileReads()).names == ("btree:rare",)


def test_what_others_leave_alone_is_no_gain(table: TableMetadata) -> None:
    where = "user BETWEEN 100 AND 140"
    everything = asked(table, where, WholeFileReads())
    assert everything.names == ("btree:user",)
    one_left = asked(table, where, WholeFileReads(only(2), read_ratio=0.05))
    assert (one_left.names, one_left.entries_read) == ((), {})
    assert one_left.why_not[0].endswith(" ms (1 file)")
    none_left = asked(table, where, WholeFileReads(only()))
    assert none_left.why_not == ("btree:user is not used: it can skip no further file",)
    assert none_left.entries_read == {}


def test_the_list_that_leaves_least_is_read_first_and_the_long_one_is_left_out(table: TableMetadata) -> None:
    found = asked(table, "user >= 40 AND rare = 7", WholeFileReads())
    assert found.names == ("btree:rare",)
    assert found.entries_read == {"btree:rare": 1}
    assert found.together().tolist() == only(3).tolist()
    assert found.why_not[0].endswith(" ms (1 file)")
    # Nothing is left at all: no other list is looked at.
    none = asked(table, "user = 7 AND rare = 8", WholeFileReads(open_bytes=LARGE))
    assert none.entries_read == {}
    assert none.together().tolist() == only().tolist()


def test_a_long_list_of_rows_in_all_files_is_found_out_by_a_sample(table: TableMetadata) -> None:
    files = WholeFileReads(open_bytes=1 << 18)
    found = asked(table, "other >= 10", files, sampled_blocks=2)
    assert found.names == ()
    assert found.why_not[0].endswith("by a sample of them 8 of 8 files that are left hold survivors")
    assert 0 < found.entries_read["btree:other"] < FILES * ROWS / 5
    # Where the files take very much longer it is read without a sample.
    assert asked(table, "other >= 10", WholeFileReads(open_bytes=LARGE)).names == ("btree:other",)


def test_without_a_word_on_the_files_all_lists_are_read(table: TableMetadata) -> None:
    found = asked(table, "user >= 40 AND rare = 7")
    assert found.names == ("btree:rare", "btree:user")
    assert found.entries_read["btree:user"] > 150_000
    assert asked(table, "user >= 40 AND rare = 7", planning_entries=1_000).names == ("btree:rare",)


def check(folder: Path, drawn: int, conditions: int) -> int:
    """Compare the files that are left with those that hold rows, by drawn costs; return how many were not."""
    draw, spared = Random(drawn), 0
    with small_blocks(draw):
        random_table(folder, drawn)
        refresh_indexes(str(folder), clock=CLOCK)
        metadata = existing_indexes(str(folder))
        names = [each.rpartition("/")[2] for each in metadata.paths.to_pylist()]
        held = [set(pq.read_table(folder / name, columns=["id"])["id"].to_pylist()) for name in names]
        truth = Truth(folder)
        try:
            for _ in range(conditions):
                condition = random_condition(draw)
                ids = truth.ids(condition)
                to_read = np.array([draw.random() < 0.7 for _ in names], np.bool_)
                files = WholeFileReads(
                    draw.choice([None, to_read]), draw.choice([0, 1_000, LARGE]), draw.choice([1.0, 0.01])
                )
                costs = {
                    "file_mib_ms": draw.choice([0.0, 0.01, 1.0, 1e6]),
                    "entry_ns": draw.choice([0.0, 8.0, 1e6]),
                    "lookup_ms": draw.choice([0.0, 0.08]),
                    "sampled_blocks": draw.choice([1, 4]),
                }
                found = asked(metadata, condition.spark, files, **costs)
                kept = found.together()
                for at in range(len(names)):
                    is_needed = files.to_read is None or files.to_read[at]
                    if kept is not None and not kept[at] and is_needed:
                        spared += 1
                        case = f"seed {drawn}: {condition.spark}"
                        assert held[at].isdisjoint(ids), (case, found.names, costs)
        finally:
            truth.close()
    return spared


@pytest.mark.law
@seed(int(os.environ["STARSKIP_SECONDARY_SEED"]))
@given(table=st.integers(0, 2**32))
@settings(max_examples=max(1, law_cases("STARSKIP_SECONDARY_CASES", 100) // 10))
def test_no_file_with_a_row_is_left_alone_whatever_lists_are_read(table: int) -> None:
    with TemporaryDirectory() as folder:
        check(Path(folder), table, 10)


@pytest.mark.slow
def test_the_law_finds_a_planted_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = whole_files.PostingReader.rows
    monkeypatch.setattr(
        whole_files.PostingReader,
        "rows",
        lambda self, path: {name: rows - rows[:1] for name, rows in sound(self, path).items()},
    )
    for drawn in range(20):
        with TemporaryDirectory() as folder:
            try:
                check(Path(folder), drawn, 8)
            except AssertionError as error:
                assert f"seed {drawn}" in str(error)
                return
    pytest.fail("no random table showed the fault")
