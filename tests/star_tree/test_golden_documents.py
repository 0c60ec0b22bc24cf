"""Documents and nodes worked out by hand, from the seed's seven rows to skewed, missing and repeated ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

pytestmark = pytest.mark.slow

_SEED_DOCUMENTS = """
0 CA Chrome en 400
1 CA Firefox fr 200
2 MX Safari en 100
3 MX Safari es 300
4 USA Chrome en 600
5 USA Firefox en 400
6 USA Firefox es 200
7 CA * en 400
8 CA * fr 200
9 CA * * 600
10 MX Safari * 400
11 USA Firefox * 600
12 USA * en 1000
13 USA * es 200
14 USA * * 1200
15 * Chrome en 1000
16 * Firefox en 400
17 * Firefox es 200
18 * Firefox fr 200
19 * Firefox * 800
20 * Safari en 100
21 * Safari es 300
22 * Safari * 400
23 * * en 1500
24 * * es 500
25 * * fr 200
26 * * * 2200
"""
"""Star-tree index, "Star-Tree documents", as it stands there."""


def shown(document: tuple[Any, ...]) -> str:
    return " ".join(map(str, document))


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("documents_per_task", [1, 2, 3, 5, 1000])
def test_the_seeds_rows_give_its_27_documents_and_pointers(trees: Any, documents_per_task: int) -> None:
    config = trees.config("Country Browser Locale", "SUM__Impressions")
    tree = trees.build_of(trees.SEED_ROWS, config, documents_per_task=documents_per_task).trees[0]
    found = [f"{number} {shown(document)}" for number, document in enumerate(trees.documents_of(tree))]
    assert found == lines(_SEED_DOCUMENTS)
    aggregated = {prefix: node.aggregated for prefix, node in trees.nodes_of(tree).items()}
    star = trees.STAR
    assert aggregated[()] == aggregated[(star,)] == aggregated[(star, star)] == 26
    assert aggregated[("CA",)] == aggregated[("CA", star)] == 9
    assert aggregated[("MX",)] == aggregated[("MX", "Safari")] == 10
    assert aggregated[("USA",)] == aggregated[("USA", star)] == 14
    assert aggregated[("USA", "Firefox")] == 11
    assert [aggregated[(star, browser)] for browser in ("Chrome", "Firefox", "Safari")] == [15, 19, 22]
    # USA/Chrome is a leaf of one document, which is its own aggregate; a single browser has no star child.
    assert aggregated[("USA", "Chrome")] == 4
    assert ("MX", star) not in aggregated
    assert tree.rows == 7


def test_a_dimension_on_the_skip_list_has_a_total_and_no_star_child(trees: Any) -> None:
    # Without star nodes for Browser, T = 1. Below a country: CA is split by Browser into Chrome (1 document)
    # and Firefox (1), and as it has no star child, its aggregated document is one of its own: CA * *. MX has
    # one browser, Safari, whose two locales aggregate to MX Safari *, which serves MX too. USA: Firefox has
    # two locales, so USA Firefox *, and a total USA * *.
    # The root's star child: 6 documents as above, split by Browser (no star child, so a total * * *): Chrome
    # has the one document, Firefox aggregates to * Firefox *, Safari to * Safari *.
    documents = """
    CA Chrome en 400
    CA Firefox fr 200
    MX Safari en 100
    MX Safari es 300
    USA Chrome en 600
    USA Firefox en 400
    USA Firefox es 200
    CA * * 600
    MX Safari * 400
    USA Firefox * 600
    USA * * 1200
    * Chrome en 1000
    * Firefox en 400
    * Firefox es 200
    * Firefox fr 200
    * Firefox * 800
    * Safari en 100
    * Safari es 300
    * Safari * 400
    * * * 2200
    """
    config = trees.config("Country Browser Locale", "SUM__Impressions", 1, "Browser")
    for documents_per_task in (1, 2, 4, 1000):
        tree = trees.build_of(trees.SEED_ROWS, config, documents_per_task=documents_per_task).trees[0]
        assert [shown(document) for document in trees.documents_of(tree)] == lines(documents)
        nodes = trees.nodes_of(tree)
        star = trees.STAR
        assert (star, star) not in nodes and ("CA", star) not in nodes
        assert (nodes[("CA",)].aggregated, nodes[("MX",)].aggregated, nodes[("USA",)].aggregated) == (
            7,
            8,
            10,
        )
        assert nodes[()].aggregated == nodes[(star,)].aggregated == 19


@pytest.mark.parametrize("documents_per_task", [1, 2, 1000])
def test_nulls_are_a_value_behind_the_others_and_no_star(trees: Any, documents_per_task: int) -> None:
    # SUM and MAX of nothing but nulls are null, COUNT__m is 0 and COUNT__* counts the rows all the same.
    # Base: (a, null) has m null twice: 2 rows. (null, y): 5. (null, null): 7 and null.
    # a = "a" has one b, null, so no star child; its aggregate is its document 0. a = null has b = y and null:
    # star child null *. Root's star child: b = y 5, b = null: nulls and 7, aggregated over all.
    rows = {
        "a": ["a", None, "a", None, None],
        "b": [None, None, None, "y", None],
        "m": [None, 7, None, 5, None],
    }
    tree = trees.build_of(
        rows, trees.config("a b", "SUM__m MAX__m COUNT__m COUNT__*"), documents_per_task=documents_per_task
    ).trees[0]
    documents = """
    a None None None 0 2
    None y 5 5 1 1
    None None 7 7 1 2
    None * 12 7 2 3
    * y 5 5 1 1
    * None 7 7 1 4
    * * 12 7 2 5
    """
    assert [shown(document) for document in trees.documents_of(tree)] == lines(documents)
    nodes = trees.nodes_of(tree)
    assert nodes[("a",)].aggregated == 0
    assert nodes[(None,)].aggregated == 3
    assert tree.columns_with_nulls == {"a", "b", "m"}


def test_repeated_rows_are_one_document_and_one_row_is_the_whole_tree(trees: Any) -> None:
    config = trees.config("a b", "SUM__m COUNT__*")
    repeated = trees.build_of({"a": [1] * 5, "b": ["x"] * 5, "m": [Decimal("0.10")] * 5}, config, files=3)
    assert trees.documents_of(repeated.trees[0]) == [(1, "x", Decimal("0.50"), 5)]
    # One document: the root is a leaf, and the document its own aggregate.
    assert trees.nodes_of(repeated.trees[0]) == {(): trees.Node((0, 1), 0, 0)}
    one = trees.build_of("a,b,m\n1,x,7\n", config).trees[0]
    assert trees.documents_of(one) == [(1, "x", 7, 1)]
    assert trees.nodes_of(one) == {(): trees.Node((0, 1), 0, 0)}


def test_a_table_without_rows_has_a_tree_without_documents(trees: Any) -> None:
    import pyarrow as pa

    rows = pa.table({"a": pa.array([], pa.string()), "m": pa.array([], pa.int64())})
    for of_rows in (rows, "a,m\n"):
        pairs = "SUM__m COUNT__*" if isinstance(of_rows, pa.Table) else "COUNT__m COUNT__*"
        tree = trees.build_of(of_rows, trees.config("a", pairs)).trees[0]
        assert (tree.documents_total, len(tree.nodes), tree.rows) == (0, 0, 0)
        assert trees.documents_of(tree) == []


def test_texts_are_in_the_order_of_their_bytes_and_a_star_in_the_data_is_no_star(trees: Any) -> None:
    # In UTF-8: "" < "*" < "Z" < "a" < "é" < "\uffff" < "𐀀"; UTF-16 would have the last two the other way.
    texts = ["𐀀", "\uffff", "é", "a", "Z", "*", ""]
    tree = trees.build_of({"a": texts, "m": list(range(7))}, trees.config("a", "SUM__m")).trees[0]
    documents = trees.documents_of(tree)
    assert documents == [(text, 6 - n) for n, text in enumerate(reversed(texts))] + [(trees.STAR, 21)]


def test_floats_have_one_zero_and_one_nan_which_is_the_greatest(trees: Any) -> None:
    nan, infinity = float("nan"), float("inf")
    rows = {"a": [0.0, -0.0, nan, -nan, infinity, -infinity, None], "m": [1, 2, 4, 8, 16, 32, 64]}
    tree = trees.build_of(rows, trees.config("a", "SUM__m")).trees[0]
    assert [shown(document) for document in trees.documents_of(tree)] == [
        "-inf 32",
        "0.0 3",
        "inf 16",
        "nan 12",
        "None 64",
        "* 127",
    ]


def test_a_tree_may_be_deeper_than_a_hundred_dimensions(trees: Any) -> None:
    # One value in each dimension but the last, so that there is one node a level, and two in the last.
    order = [f"d{number}" for number in range(140)]
    rows: dict[str, Any] = {name: [1, 1, 1] for name in order}
    rows["d139"], rows["m"] = [1, 2, 2], [1, 2, 4]
    for documents_per_task in (1, 1000):
        tree = trees.build_of(
            rows, trees.config(" ".join(order), "SUM__m"), documents_per_task=documents_per_task
        ).trees[0]
        ones = (1,) * 139
        expected = [(*ones, 1, 1), (*ones, 2, 6), (*ones, trees.STAR, 7)]
        assert trees.documents_of(tree) == expected
        nodes = trees.nodes_of(tree)
        assert len(nodes) == 140 + 3
        assert {nodes[(1,) * depth].aggregated for depth in range(140)} == {2}


def test_a_leaf_may_hold_more_documents_than_any_number_of_64_bits(trees: Any) -> None:
    tree = trees.build_of(trees.SEED_ROWS, trees.config("Country", "SUM__Impressions", 10**30)).trees[0]
    assert [shown(document) for document in trees.documents_of(tree)] == [
        "CA 600",
        "MX 400",
        "USA 1200",
        "* 2200",
    ]
    assert trees.nodes_of(tree) == {(): trees.Node((0, 3), 3, 0)}
