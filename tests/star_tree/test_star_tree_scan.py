"""A tree that is asked: which documents it reads, which row groups, and what it keeps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import StorageError
from starskip.star_tree.build import document_files
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind
from starskip.star_tree.serving import document_reader, traverse
from starskip.star_tree.serving.star_tree import ScanRequest
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore

pytestmark = pytest.mark.slow

IMPRESSIONS = Measure.of(MeasureKind.SUM, "Impressions")
M = Measure.of(MeasureKind.SUM, "m")


def seed_tree(trees: Any, leaf: int = 1, skip: str = "") -> Any:
    config = trees.config("Country Browser Locale", "SUM__Impressions COUNT__*", leaf, skip)
    return trees.build_of(trees.SEED_ROWS, config).trees[0]


def mask(tree: Any, dimension: str, *values: Any) -> np.ndarray[Any, Any]:
    known = [*tree.dictionary(dimension).to_pylist(), None]
    return np.array([value in values for value in known])


def asked(tree: Any, group_by: str = "", **values: Any) -> tuple[list[int], int, dict[Any, int]]:
    """Return the numbers of the documents that a question reads, how many, and the sums by group."""
    masks = {name: mask(tree, name, *wanted) for name, wanted in values.items()}
    request = ScanRequest(masks, tuple(group_by.split()), (IMPRESSIONS,))
    found = tree.traverse(request)
    ranges = [number for pair in zip(found.starts, found.ends, strict=True) for number in range(*pair)]
    result = tree.scan(request)
    sums = result.measures[IMPRESSIONS].results().to_pylist()
    keys: list[Any] = [()]
    if group_by:
        values_of = [[*tree.dictionary(name).to_pylist(), None] for name in group_by.split()]
        columns = [result.codes[name].tolist() for name in group_by.split()]
        rows = zip(*columns, strict=True)
        keys = [tuple(of[code] for of, code in zip(values_of, row, strict=True)) for row in rows]
    assert result.documents_read == len(ranges) + len(found.aggregated)
    return (
        sorted([*ranges, *found.aggregated.tolist()]),
        result.documents_read,
        dict(zip(keys, sums, strict=True)),
    )


def test_the_seeds_four_questions_read_the_documents_that_it_names(trees: Any) -> None:
    tree = seed_tree(trees)
    # "Query execution" in the star-tree paper: all; USA; en; by browser.
    assert asked(tree) == ([26], 1, {(): 2200})
    assert asked(tree, Country=["USA"]) == ([14], 1, {(): 1200})
    assert asked(tree, Locale=["en"]) == ([23], 1, {(): 1500})
    by_browser = {("Chrome",): 1000, ("Firefox",): 800, ("Safari",): 400}
    assert asked(tree, "Browser") == ([15, 19, 22], 3, by_browser)


def test_a_question_of_every_kind_reads_the_documents_worked_out_by_hand(trees: Any) -> None:
    tree = seed_tree(trees)
    # MX has one browser and no star child: its only child stands for all browsers.
    assert asked(tree, Country=["MX"], Locale=["es"]) == ([3], 1, {(): 300})
    assert asked(tree, "Country", Locale=["en"]) == (
        [2, 7, 12],
        3,
        {("CA",): 400, ("MX",): 100, ("USA",): 1000},
    )
    # */Chrome is a leaf of one document, in which no locale was dropped.
    assert asked(tree, Browser=["Chrome", "Safari"]) == ([15, 22], 2, {(): 1400})
    assert asked(tree, Browser=["Chrome"], Locale=["fr"]) == ([15], 1, {(): None})
    assert asked(tree, Country=[]) == ([], 0, {(): None})
    assert asked(tree, "Locale", Country=[]) == ([], 0, {})
    everything = asked(tree, "Country Browser Locale")
    assert everything[0] == [0, 1, 2, 3, 4, 5, 6] and len(everything[2]) == 7


def test_leaves_are_read_and_what_remains_is_applied(trees: Any) -> None:
    # T = 3, as in test_golden_documents: the star child of the star child is the leaf of documents 18 to 20.
    tree = seed_tree(trees, 3)
    assert asked(tree, Locale=["en"]) == ([18, 19, 20], 3, {(): 1500})
    assert asked(tree, Country=["USA"], Browser=["Firefox"]) == ([4, 5, 6], 3, {(): 600})
    assert asked(tree, Country=["USA"]) == ([9], 1, {(): 1200})


def test_without_a_star_child_all_children_are_read(trees: Any) -> None:
    # Browser on the skip list, documents as in test_golden_documents: no * below a country.
    tree = seed_tree(trees, 1, "Browser")
    assert asked(tree, Country=["USA"], Locale=["en"]) == ([4, 5], 2, {(): 1000})
    # * Chrome en, * Firefox es, * Safari es: Chrome is a leaf, from which nothing remains.
    assert asked(tree, Locale=["es"]) == ([11, 13, 17], 3, {(): 500})
    assert asked(tree, Country=["USA"]) == ([10], 1, {(): 1200})


def table(seed: int = 1, rows: int = 3000, values: int = 40) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "a": pa.array(chance.integers(0, values, rows), mask=chance.random(rows) < 0.05),
            "b": chance.integers(0, 5, rows),
            "c": chance.integers(0, values, rows),
            "m": chance.integers(-(2**40), 2**40, rows),
        }
    )


ROWS = table()


def of_rows(masks: dict[str, Any], group_by: list[str], tree: Any) -> dict[Any, tuple[int | None, int]]:
    """Return what the rows themselves say: sums and counts by group."""
    values = {name: ROWS.column(name).to_pylist() for name in "abcm"}
    found: dict[Any, list[int]] = {} if group_by else {(): []}
    allowed = {
        name: {
            value
            for value, is_in in zip([*tree.dictionary(name).to_pylist(), None], bits, strict=True)
            if is_in
        }
        for name, bits in masks.items()
    }
    for row in range(ROWS.num_rows):
        if all(values[name][row] in allowed[name] for name in masks):
            found.setdefault(tuple(values[name][row] for name in group_by), []).append(values["m"][row])
    return {key: (sum(of_key) if of_key else None, len(of_key)) for key, of_key in found.items()}


@pytest.fixture(scope="module")
def random_trees(trees: Any) -> list[Any]:
    configs = [
        trees.config("a b c", "SUM__m COUNT__*", 1),
        trees.config("a b c", "SUM__m COUNT__*", 20, "b"),
        trees.config("c b a", "SUM__m COUNT__*", 150, "c b"),
    ]
    found: list[Any] = list(trees.build_of(ROWS, *configs, documents_per_task=400).trees)
    return found


def check(tree: Any, share: float, seed: int, named: list[str], group_by: list[str]) -> None:
    chance = np.random.default_rng(seed)
    masks = {name: chance.random(len(tree.dictionary(name)) + 1) < share for name in named}
    result = tree.scan(ScanRequest(masks, tuple(group_by), (M, COUNT_ROWS)))
    values = [[*tree.dictionary(name).to_pylist(), None] for name in group_by]
    keys: list[Any] = [()]
    if group_by:
        rows = zip(*(result.codes[name].tolist() for name in group_by), strict=True)
        keys = [tuple(of[code] for of, code in zip(values, row, strict=True)) for row in rows]
    measured = [result.measures[measure].results().to_pylist() for measure in (M, COUNT_ROWS)]
    assert dict(zip(keys, zip(*measured, strict=True), strict=True)) == of_rows(masks, group_by, tree)


NAMES = st.lists(st.sampled_from("abc"), unique=True)


@given(
    which=st.integers(0, 2),
    ratio=st.sampled_from([0, 16, 10**9]),
    share=st.sampled_from([0.0, 0.03, 0.5, 1.0]),
    seed=st.integers(0, 1000),
    named=NAMES,
    group_by=NAMES,
)
def test_masks_and_groups_give_what_the_rows_say(
    random_trees: list[Any], which: int, ratio: int, share: float, seed: int, named: Any, group_by: Any
) -> None:
    # With 0 each wanted value is searched for, with 10^9 all children are looked at.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traverse, "_BINARY_SEARCH_RATIO", ratio)
        check(random_trees[which], share, seed, named, group_by)


@pytest.mark.parametrize("fault", ["star", "range"])
def test_a_planted_fault_is_found(
    random_trees: list[Any], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    tree, named = (random_trees[1], ["c"]) if fault == "star" else (random_trees[2], ["b"])
    check(tree, 0.5, 1, named, [])
    if fault == "star":
        # All children, the star among them: each row counts twice.
        monkeypatch.setattr(
            traverse, "_undivided", lambda nodes, parents, _: traverse._children(nodes, parents)
        )
    else:
        monkeypatch.setattr(
            type(tree),
            "_qualified",
            lambda self, found, request: np.sort(
                np.concatenate(
                    [np.arange(*p) for p in zip(found.starts, found.ends, strict=True)] + [found.aggregated]
                )
            ),
        )
    with pytest.raises(AssertionError):
        check(tree, 0.5, 1, named, [])


def test_only_the_row_groups_that_hold_the_documents_are_read_and_once(
    trees: Any, row_groups_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_files, "DOCUMENTS_PER_ROW_GROUP", 100)
    tree = trees.build_of(ROWS, trees.config("a b c", "SUM__m COUNT__*"), documents_per_task=900).trees[0]
    assert tree.documents_total > 4_000
    total = ScanRequest({}, (), (M,))
    tree.scan(total)
    assert len(row_groups_read) == 1  # one document, one column
    tree.scan(total)
    assert len(row_groups_read) == 1
    one = ScanRequest({"a": mask(tree, "a", 7), "b": mask(tree, "b", 2)}, ("c",), (M, COUNT_ROWS))
    tree.scan(one)
    first = len(row_groups_read) - 1
    # The documents of one node lie side by side: two groups at most, of three columns.
    assert first <= 2 * 3
    tree.scan(one)
    assert len(row_groups_read) == 1 + first


def test_what_is_kept_is_bounded(
    trees: Any, row_groups_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_files, "DOCUMENTS_PER_ROW_GROUP", 50)
    tree = trees.build_of(ROWS, trees.config("a b c", "SUM__m COUNT__*")).trees[0]
    monkeypatch.setattr(document_reader, "CACHE_BYTES", 2_000)
    kept = document_reader.DocumentReader(
        tree._storage,
        tree.schema,
        [
            (name, count)
            for name, count in zip(
                tree.documents._files, np.diff(tree.documents._ends, prepend=0).tolist(), strict=True
            )
        ],
    )
    numbers = np.arange(tree.documents_total)
    expected = tree.documents.measure(numbers, M).results()
    row_groups_read.clear()
    for _ in range(2):
        assert kept.measure(numbers, M).results() == expected
        assert kept._newest.held <= 2_000
    assert len(row_groups_read) >= 2 * (tree.documents_total // 50 - 5)


def test_several_threads_may_ask_one_tree(trees: Any) -> None:
    tree = trees.build_of(ROWS, trees.config("a b c", "SUM__m COUNT__*", 10), documents_per_task=500).trees[0]
    requests = [(0.5, seed, named, by) for seed in range(5) for named, by in ((["a"], ["b"]), (["c"], ["a"]))]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda request: check(tree, *request), requests * 2))


KINDS = ("base", "star", "nodes", "dictionary", "sources")


def small(trees: Any, m: int = 1) -> tuple[dict[str, bytes], ArtefactStore]:
    storage = trees.MemoryStorage()
    store = ArtefactStore(storage)
    rows = {"a": list("xyzxyzx"), "b": [1, 2, 3, 4, 5, 6, 7], "m": [m] * 7}
    trees.build_of(rows, trees.config("a b", "SUM__m COUNT__*", 1), store=store)
    return storage.objects, store


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["gone", "cut", "another's"])
def test_a_damaged_file_of_a_tree_is_named(trees: Any, kind: str, damage: str) -> None:
    objects, store = small(trees)
    name = next(name for name in objects if name.endswith(f"{kind}.parquet"))
    whole = objects.pop(name)
    if damage == "cut":
        objects[name] = whole[:-10]
    if damage == "another's":
        # Of a tree of as many documents, with other sums.
        others, _ = small(trees, m=2)
        objects[name] = next(of for each, of in others.items() if each.endswith(f"{kind}.parquet"))
    with pytest.raises(StorageError, match=f"{kind}.parquet: is gone or damaged"):
        trees.documents_of(open_trees(store).trees[0])
        trees.nodes_of(open_trees(store).trees[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_is_told_or_changes_nothing(trees: Any, kind: str) -> None:
    objects, store = small(trees)

    def read() -> Any:
        tree = open_trees(store).trees[0]
        return trees.documents_of(tree), trees.nodes_of(tree)

    whole_tree = read()
    name = next(name for name in objects if name.endswith(f"{kind}.parquet"))
    whole = objects[name]
    told = 0
    for position in range(0, len(whole), 11):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        objects[name] = bytes(changed)
        try:
            assert read() == whole_tree
        except StorageError as error:
            assert "damaged" in str(error)
            told += 1
    # Its list of files is looked at by those who ask whether the table has changed.
    assert told >= len(whole) / 11 / 3
