"""The k-way intersection is that of sets, and reads no input further than needed.

With a limit, a second list is read only where that takes less than a look at the rows of the first one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64
from secondary_tables import CLOCK
from starskip.secondary import IndexedTable, open_table
from starskip.secondary import intersection as module
from starskip.secondary.intersection import (
    Pieces,
    PostingInput,
    intersect,
    intersection,
    pieces_together,
)
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.weighed_lists import WeighedLists

FILE = 1 << 32
_ADDRESSES = st.builds(lambda file, row: file * FILE + row, st.integers(0, 3), st.integers(0, 20))
_PIECES = st.lists(st.lists(_ADDRESSES, min_size=1, max_size=8), max_size=6)
_INPUTS = st.lists(st.tuples(_PIECES, st.lists(_ADDRESSES, max_size=8)), min_size=1, max_size=5)


FILES, ROWS = 2, 60_000
ALL = FILES * ROWS
SPREAD = f"user < {ALL // 2} AND other < {ALL // 2}"


def pieces(parts: list[list[int]], wider: int = 0, read: list[list[int]] | None = None) -> Pieces:
    def load(numbers: Any, among: BitMap64 | None) -> list[BitMap64]:
        found = [parts[number] for number in numbers]
        if read is not None:
            read.extend(found)
        # What is not asked for need not be told, and may be.
        return [
            BitMap64(each if among is None or at % 2 else BitMap64(each) & among)
            for at, each in enumerate(found)
        ]

    lows = np.array([max(min(each) - wider, 0) for each in parts], np.uint64)
    highs = np.array([max(each) + wider for each in parts], np.uint64)
    return Pieces(lows, highs, load)


@given(_INPUTS, st.sampled_from([0, 3, FILE]))
def test_it_gives_what_all_inputs_have(inputs: list[tuple[list[list[int]], list[int]]], wider: int) -> None:
    made = [PostingInput(pieces(parts, wider), held=BitMap64(held)) for parts, held in inputs]
    expected = set.intersection(*({*chain.from_iterable(parts), *held} for parts, held in inputs))
    windows = [list(window) for window in intersect(made)]
    assert list(chain.from_iterable(windows)) == sorted(expected)
    assert all(windows)


def test_it_ends_as_soon_as_one_input_ends() -> None:
    read: list[list[int]] = []
    short = PostingInput(held=BitMap64([5, FILE + 9]))
    long = PostingInput(
        pieces([[file * FILE + row for row in range(20)] for file in range(1_000)], read=read)
    )
    assert list(intersection([short, long])) == [5, FILE + 9]
    assert long.pieces_read == 2 == len(read)


def test_pieces_between_the_entries_of_another_input_stay_unread() -> None:
    short = PostingInput(pieces([[700 * FILE]]))
    long = PostingInput(pieces([[file * FILE] for file in range(1_000)]))
    other = PostingInput(pieces([[file * FILE, file * FILE + 5] for file in range(1_000)]))
    assert list(intersection([long, other, short])) == [700 * FILE]
    assert (short.pieces_read, long.pieces_read, other.pieces_read) == (1, 1, 1)


def test_an_input_without_entries_reads_no_other() -> None:
    long = PostingInput(pieces([[file * FILE] for file in range(10)]))
    assert not intersection([long, PostingInput()])
    assert long.pieces_read == 0


def test_windows_come_before_later_pieces_are_read() -> None:
    one, two = (PostingInput(pieces([[file * FILE] for file in range(100)])) for _ in range(2))
    assert list(next(intersect([one, two]))) == [0]
    assert (one.pieces_read, two.pieces_read) == (1, 1)


@given(
    _PIECES, st.lists(st.lists(_ADDRESSES, min_size=1, max_size=8), max_size=5), st.sampled_from([0, 3, FILE])
)
def test_addresses_among_others_are_found_however_often_an_input_is_asked(
    parts: list[list[int]], asked: list[list[int]], wider: int
) -> None:
    together = pieces_together([pieces(parts[:2], wider), pieces([]), pieces(parts[2:], wider)])
    every = set(chain.from_iterable(parts))
    input_ = PostingInput(together)
    for addresses in asked:
        assert set(input_.among(BitMap64(addresses))) == every & set(addresses)
    assert input_.pieces_read <= len(parts)
    assert set(input_.window(0, 1 << 63)) == every
    assert input_.pieces_read == len(parts)
    # In rising windows a piece that ends before the next one is asked for once.
    rising = sorted(set(chain.from_iterable(asked)))
    starts = [*rising[::3], module.LAST_ADDRESS]
    walked = PostingInput(together)
    for start, end in pairwise(starts):
        window = {each for each in rising if start <= each < end}
        assert set(walked.among(BitMap64(window), end)) == every & window


def _end_too_early(patch: pytest.MonkeyPatch) -> None:
    sound = PostingInput.seek
    patch.setattr(
        PostingInput, "seek", lambda self, at: sound(self, at) if self._unread.any() or not at else None
    )


def _not_sorted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "rising", lambda lows: np.arange(len(lows)))


def _window_too_short(patch: pytest.MonkeyPatch) -> None:
    sound = PostingInput.window
    patch.setattr(PostingInput, "window", lambda self, start, end: sound(self, start, end - 1))


@pytest.mark.parametrize("plant", [_end_too_early, _not_sorted, _window_too_short])
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    random = np.random.default_rng(1)
    for _ in range(200):
        inputs = [
            [(random.integers(0, 3, 4) * FILE + random.integers(0, 9, 4)).tolist() for _ in range(5)]
            for _ in range(2)
        ]
        expected = sorted(set.intersection(*(set(chain.from_iterable(parts)) for parts in inputs)))
        try:
            found = [list(each) for each in intersect([PostingInput(pieces(p)) for p in inputs])]
        except (ValueError, IndexError):
            return
        if list(chain.from_iterable(found)) != expected:
            return
    pytest.fail("no intersection showed the fault")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``ordered`` rises with the rows, ``user`` and ``other`` are spread; ``mirror`` is against ``user``."""
    found = tmp_path_factory.mktemp("table")
    for number in range(FILES):
        at = np.arange(number * ROWS, (number + 1) * ROWS)
        user = at * 7_919 % ALL
        rows = {
            "id": at,
            "user": user,
            "other": at * 104_729 % ALL,
            "ordered": at + 0.5 * (at % 2),
            "mirror": ALL - 1 - user,
        }
        path = found / f"{number}.parquet"
        pq.write_table(pa.table(rows), path, row_group_size=1_000, write_page_index=True)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    indexes = ["btree:user", "btree:other", "btree:ordered", "btree:mirror"]
    create_indexes(str(found), indexes, clock=CLOCK)
    return found


@pytest.fixture
def table(folder: Path) -> IndexedTable:
    # As in a store where entries are far: here a list of so few takes less than a look at one row.
    return open_table(str(folder), settings=SecondarySettings(entry_ns=100.0))


def asked(table: IndexedTable, where: str, limit: int, *names: str) -> tuple[dict[str, int], int]:
    """The entries that were read by index, and the row groups; the rows are those of a scan."""
    path = [f"btree:{name}" for name in names]
    answer = table.answer(where, ["id"], limit=limit, path=path)
    expected = set(table.query(where, ["id"], path=["scan"])["id"].to_pylist())
    found = answer.rows["id"].to_pylist()
    assert len(set(found)) == len(found) == min(limit, len(expected))
    assert set(found) <= expected
    return answer.stats["candidates_read"], answer.stats["row_groups_read"]


def test_a_list_that_is_spread_over_all_files_is_not_read(
    table: IndexedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, groups = asked(table, SPREAD, 5, "user", "other")
    assert read["btree:user"] <= 20_000
    assert read.get("btree:other", 0) == 0
    assert groups <= 16
    # Where nothing is weighed, all of it is.
    monkeypatch.setattr(WeighedLists, "is_worth", lambda *_: True)
    read, _ = asked(table, SPREAD, 5, "user", "other")
    assert read["btree:other"] == ALL // 2


def test_of_a_list_in_the_order_of_the_rows_the_blocks_near_a_window_are_read(table: IndexedTable) -> None:
    read, groups = asked(table, f"user < {ALL // 2} AND ordered < {ALL - 10}", 5, "user", "ordered")
    assert 0 < read["btree:ordered"] <= 20_000
    assert groups <= 6


def test_a_short_list_is_read_at_once(table: IndexedTable) -> None:
    read, groups = asked(table, f"user < {ALL // 2} AND other < 30", 5, "user", "other")
    assert read["btree:other"] == 30
    assert groups <= 16


def test_a_list_is_read_as_soon_as_looking_at_rows_has_cost_as_much(table: IndexedTable) -> None:
    # No row has both, which the first rows do not tell.
    read, groups = asked(table, f"user < {ALL // 2} AND mirror < {ALL // 2}", 5, "user", "mirror")
    assert read == {"btree:user": ALL // 2, "btree:mirror": ALL // 2}
    assert groups <= ALL // 1_000 // 4
