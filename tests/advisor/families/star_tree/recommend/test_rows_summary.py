"""Summaries of pieces: stored and read back, put together in any way, they are the summary of the whole."""

from __future__ import annotations

import dataclasses
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.star_tree.recommend.rows_summary import (
    RowsSummary,
    SummaryPlan,
    summary_of_table,
    summary_table,
)

pytestmark = pytest.mark.slow

DIMENSIONS = ("day", "kind", "price", "shop")


def rows_of(count: int, seed: int) -> pa.Table:
    """Return rows of several types, with nulls, NaN and both zeros among them."""
    drawn = np.random.default_rng(seed)
    kind = drawn.integers(0, 6, count)
    prices = np.array([0.0, -0.0, np.nan, 1.5, 2.25])
    return pa.table(
        {
            "day": pa.array(drawn.integers(0, 300, count), pa.int32()).cast(pa.date32()),
            "kind": pa.array(kind, mask=kind == 5),
            "price": prices[drawn.integers(0, 5, count)],
            "shop": pa.array([f"shop {number}" for number in drawn.geometric(0.02, count)], pa.string()),
            "amount": pa.array(drawn.integers(0, 999, count)).cast(pa.decimal128(21, 2)),
        }
    )


def plan_of(size: int, step: int = 3, most_rows: int = 300) -> SummaryPlan:
    return SummaryPlan(rows_of(0, 0).schema, (DIMENSIONS, ("kind", "shop")), size, step, most_rows)


def summary(plan: SummaryPlan, rows: pa.Table, start: int, end: int) -> RowsSummary:
    found = RowsSummary(plan)
    found.add(rows.slice(start, end - start), start)
    return found


def stored(plan: SummaryPlan, found: RowsSummary) -> RowsSummary:
    return summary_of_table(summary_table(found), plan)


def content(found: RowsSummary) -> list[Any]:
    """Return all that is in a summary; floats by their text, which tells NaN and zeros apart."""
    told: list[Any] = [found.rows, found.spread.step, found.spread.positions.tolist()]
    told.append([str(row) for row in found.spread.rows.to_pylist()])
    return told + [
        {
            of: (s.below, s.hashes.tolist(), s.rows.tolist(), [str(row) for row in s.values.to_pylist()])
            for of, s in sketch.samples.items()
        }
        for sketch in found.sketches
    ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(0, 1_000), st.sampled_from([20, 200, 5_000]), st.data())
def test_pieces_in_any_cut_and_grouping_give_the_summary_of_the_whole(
    seed: int, count: int, size: int, data: st.DataObject
) -> None:
    rows, plan = rows_of(count, seed), plan_of(size, data.draw(st.integers(1, 9)))
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, count), max_size=7))), count]
    pieces = [stored(plan, summary(plan, rows, *cut)) for cut in pairwise(cuts)]
    while len(pieces) > 1:
        at = data.draw(st.integers(0, len(pieces) - 2))
        pieces[at].merge(pieces.pop(at + 1))
        pieces[at] = stored(plan, pieces[at])
    assert content(pieces[0]) == content(summary(plan, rows, 0, count))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 30), st.permutations(range(6)), st.sampled_from([20, 200]))
def test_sketches_do_not_depend_on_the_order_of_the_pieces(seed: int, order: list[int], size: int) -> None:
    rows, plan = rows_of(1_200, seed), plan_of(size)
    whole, merged = summary(plan, rows, 0, 1_200), RowsSummary(plan)
    for number in order:
        merged.merge(summary(plan, rows, 200 * number, 200 * (number + 1)))
    assert content(merged)[4:] == content(whole)[4:]


def test_exact_sets_have_no_sample_beside_a_larger_exact_one() -> None:
    found = summary(plan_of(400), rows_of(3_000, 1), 0, 3_000).sketches[0].samples
    exact = [of for of, sample in found.items() if sample.below is None]
    assert exact
    assert not [pair for pair in combinations(exact, 2) if pair[0] < pair[1] or pair[1] < pair[0]]
    for of, sample in found.items():
        subsets = [of - {name} for name in of] if sample.below is not None and len(of) > 1 else []
        assert all(any(smaller <= known for known in (*exact, *found)) for smaller in subsets)


def test_spread_rows_are_those_at_multiples_of_the_step_and_stay_few() -> None:
    rows = rows_of(10_000, 2)
    assert summary(plan_of(50, step=40), rows, 0, 10_000).spread.positions.tolist() == [*range(0, 10_000, 40)]
    few = summary(plan_of(50, step=1), rows, 0, 10_000).spread
    assert (few.step, len(few.positions)) == (64, 157)
    wanted = rows.take(pa.array(range(0, 10_000, 64)))
    assert [str(row) for row in few.rows.to_pylist()] == [str(row) for row in wanted.to_pylist()]


def test_a_small_piece_is_thinned_out_as_a_large_one_behind_it_was() -> None:
    rows, plan = rows_of(510, 2), plan_of(50, step=1)
    found = summary(plan, rows, 0, 10)
    found.merge(summary(plan, rows, 10, 510))
    assert found.spread.positions.tolist() == [*range(0, 510, 2)]


@pytest.mark.parametrize("sound", ["rows", "step", "positions", "sketch(0).lengths", "sketch(1).value(shop)"])
@pytest.mark.parametrize("fault", ["gone", "shorter", "text"])
def test_a_stored_summary_that_was_changed_is_no_summary(sound: str, fault: str) -> None:
    plan = plan_of(50)
    table = summary_table(summary(plan, rows_of(500, 3), 0, 500))
    at = table.schema.get_field_index(sound)
    values = table[sound][0].values
    shorter = pa.ListArray.from_arrays([0, len(values) - 1], values)
    changed = {"gone": None, "shorter": shorter, "text": pa.array([["a"]])}[fault]
    table = table.remove_column(at) if changed is None else table.set_column(at, sound, changed)
    with pytest.raises((ValueError, LookupError, TypeError, pa.ArrowException)):
        summary_of_table(table, plan)


def test_a_value_that_was_changed_is_found_out_by_its_hash() -> None:
    plan = plan_of(5_000)
    table = summary_table(summary(plan, rows_of(500, 3), 0, 500))
    name = "sketch(1).value(shop)"
    values = table[name][0].as_py()
    values[3] = "another shop"
    changed = table.set_column(table.schema.get_field_index(name), name, pa.array([values]))
    with pytest.raises(ValueError, match="not in the order of their hashes"):
        summary_of_table(changed, plan)
    with pytest.raises(ValueError, match="not the samples"):
        summary_of_table(table, dataclasses.replace(plan, size=50))
