"""Trees simulated from combinations alone: the same documents, nodes and reads as trees that are built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.star_tree.recommend.combinations import distinct_combinations
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids
from starskip.advisor.families.star_tree.recommend.document_codes import base_documents, star_documents
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout
from starskip.star_tree.build.build_subtrees import SplitRules, build_subtrees
from starskip.star_tree.build.node_arrays import NodeArrays
from starskip.star_tree.documents import Documents, aggregated
from starskip.star_tree.serving.node_table import NodeTable
from starskip.star_tree.serving.traverse import traverse

MOST = 10**9
SEVEN_ROWS = [(0, 0, 0), (0, 1, 1), (1, 2, 2), (1, 2, 0), (2, 0, 0), (2, 1, 2), (2, 1, 0)]
"""Those of the star-tree paper: country, browser, locale."""


def simulated(
    rows: Sequence[Sequence[int]],
    order: Sequence[str],
    threshold: int,
    skipped: Any,
    *,
    as_pinot: bool = False,
) -> SimulatedTree:
    """Return the tree of ``rows``, whose columns are d0, d1, …; the cuboids hold them in another order."""
    columns = {
        f"d{number}": np.array([row[number] for row in rows], np.int32) for number in range(len(rows[0]))
    }
    shuffled = {name: columns[name] for name in sorted(columns, reverse=True)}
    values = {name: pa.array(range(int(column.max()) + 1)) for name, column in columns.items()}
    whole = distinct_combinations(shuffled, np.ones(len(rows), np.int64))
    layout = TreeLayout(tuple(order), threshold, frozenset(skipped))
    return SimulatedTree(Cuboids({frozenset(columns): whole}, values), layout, as_pinot=as_pinot)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], tuple[str, ...], int, frozenset[str]]:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = draw(st.lists(row, min_size=1, max_size=60))
    names = [f"d{number}" for number in range(len(sizes))]
    order = tuple(draw(st.permutations(names)))
    return (
        rows,
        order,
        draw(st.integers(1, 12)),
        frozenset(draw(st.lists(st.sampled_from(names), max_size=2))),
    )


def built(tree: SimulatedTree, rows: Sequence[Sequence[int]]) -> Any:
    order = tree.layout.dimensions_split_order
    codes = tuple(np.array([row[int(name[1:])] for row in rows], np.int32) for name in order)
    stars = tuple(len(tree.cuboids.values[name]) + 1 for name in order)
    rules = SplitRules(tree.layout.max_leaf_records, tuple(n in tree.layout.skipped for n in order), stars)
    return build_subtrees(aggregated(Documents(codes, {}), stars), 0, rules, is_node=True), stars


def node_table(nodes: NodeArrays) -> NodeTable:
    """Return the nodes in the order in which they are served: by depth, parent and code."""
    number = np.full(len(nodes), -1)
    order: list[int] = []
    for level in range(int(nodes.depth.max()) + 1):
        here = np.flatnonzero(nodes.depth == level)
        above = number[nodes.parent[here]] if level else np.zeros(len(here))
        here = here[np.lexsort((nodes.code[here], above))]
        number[here] = len(order) + np.arange(len(here))
        order.extend(here)
    parents = nodes.parent[order]
    children = np.bincount(number[parents[parents >= 0]], minlength=len(order))
    first = 1 + np.cumsum(children) - children
    arrays = (array[order] for array in (nodes.depth, nodes.code, nodes.start, nodes.end, nodes.aggregated))
    depth, code, start, end, aggregated = arrays
    return NodeTable(depth.astype(np.int16), code, start, end, aggregated, first, first + children)


def test_the_seeds_seven_rows_give_its_27_documents() -> None:
    counts = simulated(SEVEN_ROWS, ("d0", "d1", "d2"), 1, ()).counts()
    assert (counts.base_documents, counts.documents) == (7, 27)


@settings(max_examples=200)
@given(tables())
def test_documents_and_nodes_are_those_of_the_built_tree(table: Any) -> None:
    rows, order, threshold, skipped = table
    tree = simulated(rows, order, threshold, skipped)
    real, _ = built(tree, rows)
    counts = tree.counts()
    assert counts.base_documents == real.base_documents
    assert (counts.documents, counts.nodes) == (len(real.documents), len(real.nodes))
    base, star = base_documents(tree, MOST), star_documents(tree, MOST)
    for number, codes in enumerate(real.documents.codes):
        assert [*base.codes[number], *star.codes[number]] == codes.tolist()
    assert base.rows.sum() == len(rows)


@settings(max_examples=200)
@given(tables(), st.data())
def test_a_query_reads_as_many_documents_as_of_the_built_tree(table: Any, data: st.DataObject) -> None:
    rows, order, threshold, skipped = table
    tree = simulated(rows, order, threshold, skipped)
    real, stars = built(tree, rows)
    masks: dict[str, Any] = {}
    grouped = frozenset(data.draw(st.lists(st.sampled_from(order), max_size=2)))
    for name in data.draw(st.lists(st.sampled_from(order), max_size=2, unique=True)):
        size = len(tree.cuboids.values[name])
        masks[name] = np.array(data.draw(st.lists(st.booleans(), min_size=size + 1, max_size=size + 1)))
    found = traverse(
        node_table(real.nodes), [masks.get(n) for n in order], [n in grouped for n in order], stars
    )
    assert tree.documents_read(frozenset(masks) | grouped, masks) == found.documents


@settings(max_examples=200)
@given(tables(), st.booleans())
def test_a_threshold_from_the_largest_leaf_on_gives_the_same_tree_and_one_below_another(
    table: Any, as_pinot: bool
) -> None:
    rows, order, threshold, skipped = table
    tree = simulated(rows, order, threshold, skipped, as_pinot=as_pinot)
    largest = int(tree.largest_leaf())

    def levels(threshold: int) -> list[Any]:
        other = simulated(rows, order, threshold, skipped, as_pinot=as_pinot)
        return [
            (item.concrete, item.is_split.tolist(), item.has_star.tolist(), item.has_own.tolist())
            for level in other.levels()
            for item in level
        ]

    assert levels(threshold) == levels(max(largest, 1))
    if largest > 1:
        assert levels(threshold) != levels(largest - 1)


def test_a_state_that_follows_from_the_city_adds_no_star_below_it() -> None:
    rows = [(city, city // 3, day) for city in range(9) for day in range(4)]
    after, before = (simulated(rows, order, 1, ()) for order in (("d0", "d1", "d2"), ("d1", "d0", "d2")))
    assert after.counts().documents != before.counts().documents
    assert after.counts().base_documents == before.counts().base_documents == 36


def masks_of(values: Mapping[str, Sequence[bool]]) -> dict[str, Any]:
    return {name: np.array(flags) for name, flags in values.items()}


def test_a_filter_and_nothing_else_reads_one_document_of_the_seeds_tree() -> None:
    tree = simulated(SEVEN_ROWS, ("d0", "d1", "d2"), 1, ())
    assert tree.documents_read(frozenset(), {}) == 1
    assert tree.documents_read(frozenset({"d0"}), masks_of({"d0": [False, False, True, False]})) == 1
    assert tree.documents_read(frozenset({"d2"}), masks_of({"d2": [True, False, False, False]})) == 1
    assert tree.documents_read(frozenset({"d1"}), {}) == 3


def test_pinot_splits_the_root_and_aggregates_an_only_child_once_more() -> None:
    """The paper's seven rows have 27 documents, 28 in a real Pinot."""
    order = ("d0", "d1", "d2")
    own, of_pinot = (simulated(SEVEN_ROWS, order, 1, (), as_pinot=each) for each in (False, True))
    assert (own.counts().documents, of_pinot.counts().documents) == (27, 28)
    small, split = (simulated(SEVEN_ROWS, order, 100, (), as_pinot=each) for each in (False, True))
    assert small.counts().nodes == 1
    assert split.counts().nodes == 1 + 3 + 1
