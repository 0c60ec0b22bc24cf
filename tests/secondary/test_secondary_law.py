"""Any subset and order of paths, and any tree of predicates, gives the rows of DuckDB's scan.

Environment: STARSKIP_SECONDARY_CASES (100 conditions over random tables), each with several plans, and
STARSKIP_SECONDARY_SEED, what they are drawn by: another one each time, told at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from law_cases import law_cases
from secondary_conditions import Truth, random_condition
from secondary_tables import WITHOUT, Random, random_table, small_blocks
from starskip.lake import orc_file
from starskip.lake.parquet import parquet_pages
from starskip.secondary import (
    access_paths,
    build_run,
    collect_entries,
    intersection,
    open_table,
)
from starskip.secondary.access_paths import WithoutPath, path_indexes
from starskip.secondary.indexed_table import IndexedTable
from starskip.secondary.lifecycle import optimize_indexes
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.where_clause import where_expression

CASES = law_cases("STARSKIP_SECONDARY_CASES", 100)
CONDITIONS_A_TABLE = 10
_FREE = SecondarySettings(
    request_ms=1.0,
    column_mib_ms=1000.0,
    value_ns=1e6,
    function_ns=1e6,
    block_ms=0.0,
    held_block_ms=0.0,
    entry_ns=0.0,
    end_entry_ns=0.0,
)
"""Reading an index costs nothing, so that the planner takes all paths that leave less."""


def check(folder: Path, seed: int, conditions: int, file_format: str = "parquet") -> None:
    """Compare conditions over a table with the scan, by every plan that is drawn."""
    draw = Random(seed)
    with small_blocks(draw):
        written = random_table(folder, seed, file_format=file_format)
        if draw.random() < 0.3:
            optimize_indexes(str(folder))
        truth = Truth(written.truth)
        tables = [open_table(str(folder)), open_table(str(folder), settings=_FREE)]
        try:
            for _ in range(conditions):
                condition = random_condition(draw, without=WITHOUT[file_format])
                case = f"{file_format}, seed {seed}: {condition.spark}"
                expected = truth.ids(condition)
                for table in tables:
                    answer = table.answer(condition.spark, ["id"])
                    assert sorted(ids_of(answer.rows)) == expected, (
                        case,
                        answer.plan.to_document(),
                    )
                    assert table.answer(condition.spark, is_count=True).count == len(expected), case
                scanned = tables[0].query(condition.spark, path=["scan"])
                for forced in drawn_paths(tables[0], condition.spark, draw):
                    answer = tables[0].answer(condition.spark, ["id"], path=forced)
                    assert sorted(ids_of(answer.rows)) == expected, (case, forced)
                    most = draw.randrange(1, 9)
                    few = ids_of(tables[0].query(condition.spark, ["id"], limit=most, path=forced))
                    assert len(set(few)) == len(few) == min(most, len(expected)), (case, forced)
                    assert set(few) <= set(expected), (case, forced)
                    count = tables[0].answer(condition.spark, limit=most, path=forced, is_count=True).count
                    assert count == len(few), (case, forced)
                    # Of keys an index may answer by itself.
                    keys_of = ["n", "s", "x", "d", "t", "m", "flag"]
                    key = draw.choice([each for each in keys_of if each not in WITHOUT[file_format]])
                    keys = tables[0].query(condition.spark, [key], path=forced)[key]
                    assert _texts(keys) == _texts(scanned[key]), (case, forced, key)
                whole = tables[1].query(condition.spark, path=[])
                assert repr(whole.sort_by("id").to_pylist()) == repr(scanned.sort_by("id").to_pylist()), case
                few = ids_of(tables[1].query(condition.spark, ["id"], limit=3))
                assert len(few) == min(3, len(expected)) and set(few) <= set(expected), case
        finally:
            truth.close()


def _texts(values: pa.ChunkedArray) -> list[str]:
    return sorted(map(repr, values.to_pylist()))


def ids_of(rows: pa.Table) -> list[int]:
    """The ids of rows."""
    return rows["id"].to_pylist()


def drawn_paths(table: IndexedTable, where: str, draw: Random) -> list[list[str]]:
    """The scan, and a subset of the paths of single indexes in some order."""
    state = table.opened.now()
    paths = access_paths.access_paths(where_expression(where, state.schema), state.indexes).paths
    alone = sorted(
        {
            path_indexes(path)[0]
            for path in paths
            if len(path_indexes(path)) == 1 and not isinstance(path, WithoutPath)
        }
    )
    if not alone:
        return [["scan"]]
    return [["scan"], draw.sample(alone, draw.randrange(1, len(alone) + 1)), alone]


@pytest.mark.law
@seed(int(os.environ["STARSKIP_SECONDARY_SEED"]))
@given(table=st.integers(0, 2**32))
@settings(max_examples=max(1, CASES // CONDITIONS_A_TABLE))
def test_every_plan_gives_the_rows_of_a_scan(table: int) -> None:
    with TemporaryDirectory() as folder:
        check(Path(folder), table, CONDITIONS_A_TABLE)


@pytest.mark.slow
@seed(int(os.environ["STARSKIP_SECONDARY_SEED"]))
@given(table=st.integers(0, 2**32))
@settings(max_examples=max(1, CASES // CONDITIONS_A_TABLE // 4))
def test_every_plan_gives_the_rows_of_a_scan_of_orc_files(table: int) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "t"
        place.mkdir()
        check(place, table, CONDITIONS_A_TABLE, "orc")


def _list_not_sorted(patch: pytest.MonkeyPatch) -> None:
    sound = build_run._stable_order

    def swapped(keys: object) -> np.ndarray:
        order = sound(keys)
        if len(order) > 2:
            order[[0, len(order) - 1]] = order[[len(order) - 1, 0]]
        return order

    patch.setattr(build_run, "_stable_order", swapped)


def _end_too_early(patch: pytest.MonkeyPatch) -> None:
    sound = intersection._caught_up

    def ended(inputs: Sequence[intersection.PostingInput], at: int) -> int | None:
        # As if an input ended with what it has read, and not with the last of its entries.
        is_read = any(each.pieces and not each._unread.any() for each in inputs)
        return None if at > 0 and is_read else sound(inputs, at)

    patch.setattr(intersection, "_caught_up", ended)


def _positions_shifted(patch: pytest.MonkeyPatch) -> None:
    sound = collect_entries.addresses_of

    def shifted(file: int, rows: np.ndarray) -> np.ndarray:
        # Within the file: a place that is not there would be an error and no wrong answer.
        return sound(file, np.minimum(rows + (file == 1), rows.max(initial=0)))

    patch.setattr(collect_entries, "addresses_of", shifted)


def _places_in_pages_shifted(patch: pytest.MonkeyPatch) -> None:
    sound = parquet_pages.FilePages.holding

    def shifted(self: Any, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pages, places = sound(self, positions)
        return pages, np.maximum(places - 1, 0)

    patch.setattr(parquet_pages.FilePages, "holding", shifted)


@pytest.mark.slow
def test_the_law_finds_stripes_left_out() -> None:
    sound = orc_file.reaches

    def behind_the_first_row(positions: np.ndarray | None, start: int, rows: int) -> bool:
        return sound(positions, start + 1, rows - 1)

    for table in range(6):
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(orc_file, "reaches", behind_the_first_row)
            place = Path(folder) / "t"
            place.mkdir()
            try:
                check(place, table, 8, "orc")
            except AssertionError as error:
                assert f"seed {table}: " in str(error)
                return
    pytest.fail("no random table showed the fault")


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant", [_list_not_sorted, _end_too_early, _positions_shifted, _places_in_pages_shifted]
)
def test_the_law_finds_a_planted_fault(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    # The first table shows each; where what is drawn has changed, one of the others does.
    for table in range(4, 10):
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            plant(patch)
            try:
                check(Path(folder), table, 8)
            except AssertionError as error:
                assert f"seed {table}: " in str(error)
                return
    pytest.fail("no random table showed the fault")
