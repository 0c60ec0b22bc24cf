"""With a limit, a second list is read only where that takes less than a look at the rows of the first one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from secondary_tables import CLOCK
from starskip.secondary import IndexedTable, open_table
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.weighed_lists import WeighedLists

FILES, ROWS = 2, 60_000
ALL = FILES * ROWS


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


SPREAD = f"user < {ALL // 2} AND other < {ALL // 2}"


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
