"""The one pass over a table: exact while it can be, then samples that merge and estimate well."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sketches import sketch_of
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout

DIMENSIONS = ("day", "shop", "kind")


def rows_of(count: int, seed: int = 3) -> pa.Table:
    """Return skewed rows: few kinds, some shops with most rows, days that depend on the shop."""
    drawn = np.random.default_rng(seed)
    shop = np.minimum(drawn.geometric(0.01, count), 700)
    day = (drawn.integers(0, 250, count) + shop) % 365
    kind = drawn.integers(0, 6, count)
    texts = pa.array([f"shop {number}" for number in shop])
    kinds = pa.array(kind, mask=kind == 5)
    return pa.table({"day": pa.array(day).cast(pa.int32()).cast(pa.date32()), "shop": texts, "kind": kinds})


def subsets() -> list[frozenset[str]]:
    return [frozenset(c) for size in (1, 2, 3) for c in combinations(DIMENSIONS, size)]


def true_count(rows: pa.Table, of: frozenset[str]) -> int:
    return int(rows.group_by(sorted(of)).aggregate([]).num_rows)


def test_few_combinations_are_all_there_with_their_rows() -> None:
    rows = rows_of(5_000)
    cuboids = sketch_of(rows.to_batches(1_000), DIMENSIONS, 10_000).cuboids()
    for of in subsets():
        found = cuboids.combinations(of)
        assert (found.kept, found.kept_ratio) == (true_count(rows, of), 1.0)
        assert found.rows.sum() == 5_000
    assert cuboids.values["kind"].to_pylist() == [0, 1, 2, 3, 4]
    assert cuboids.combinations(frozenset({"kind"})).codes["kind"].max() == 5


def test_many_combinations_are_sampled_and_counted_within_a_few_percent() -> None:
    rows = rows_of(200_000)
    cuboids = sketch_of(rows.to_batches(), DIMENSIONS, 4_096).cuboids()
    for of in subsets():
        assert cuboids.knows(of)
        assert cuboids.combinations(of).total == pytest.approx(true_count(rows, of), rel=0.05)
    whole = cuboids.combinations(frozenset(DIMENSIONS))
    assert (whole.kept, whole.kept_ratio < 1) == (4_096, True)


@pytest.mark.parametrize("threshold", [10_000, 1_000])
def test_a_tree_is_counted_from_samples_as_from_all_combinations(threshold: int) -> None:
    rows = rows_of(200_000)
    exact, sampled = (sketch_of(rows.to_batches(), DIMENSIONS, size).cuboids() for size in (1 << 20, 8_192))
    for order in (DIMENSIONS, DIMENSIONS[::-1]):
        layout = TreeLayout(order, threshold)
        wanted, found = (SimulatedTree(each, layout).counts() for each in (exact, sampled))
        assert found.documents == pytest.approx(wanted.documents, rel=0.1)


@settings(max_examples=20)
@given(st.integers(0, 1 << 30), st.integers(1, 1_500), st.sampled_from([50, 400, 5_000]), st.data())
def test_parts_merge_to_the_sketch_of_the_whole(
    seed: int, count: int, size: int, data: st.DataObject
) -> None:
    rows = rows_of(count, seed)
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=3)))
    merged = sketch_of([], DIMENSIONS, size)
    for start, end in zip([0, *cuts], [*cuts, count], strict=True):
        merged.merge(sketch_of(rows.slice(start, end - start).to_batches(), DIMENSIONS, size))
    one, several = sketch_of(rows.to_batches(), DIMENSIONS, size).cuboids(), merged.cuboids()
    for of in subsets():
        assert several.combinations(of).kept_ratio == one.combinations(of).kept_ratio
        assert sorted(combos(several, of)) == sorted(combos(one, of))


def combos(cuboids: Cuboids, of: frozenset[str]) -> list[tuple[object, ...]]:
    found = cuboids.combinations(of)
    texts = {name: [*map(str, cuboids.values[name].to_pylist()), "null"] for name in of}
    columns = [[texts[name][code] for code in found.codes[name]] for name in sorted(of)]
    return list(zip(*columns, found.rows.tolist(), strict=True))


def test_sketches_of_two_sets_join_with_one_numbering_of_values() -> None:
    rows = rows_of(3_000)
    first, second = (
        sketch_of(rows.to_batches(), names, 9_999).cuboids() for names in (("day", "shop"), ("kind", "shop"))
    )
    joined = first.joined(second)
    assert joined.knows(frozenset({"kind", "shop"}))
    assert not joined.knows(frozenset({"kind", "day"}))
    for of in (frozenset({"day", "shop"}), frozenset({"kind", "shop"}), frozenset({"shop"})):
        assert joined.combinations(of).kept == true_count(rows, of)


def test_no_rows_at_all_give_an_empty_tree() -> None:
    cuboids = sketch_of([], DIMENSIONS, 100).cuboids()
    counts = SimulatedTree(cuboids, TreeLayout(DIMENSIONS, 1)).counts()
    assert (counts.documents, counts.base_documents) == (0, 0)
