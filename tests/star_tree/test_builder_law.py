"""The builder's documents and nodes are those of a recursive builder of plain Python, however work is cut.

Environment: STARSKIP_STAR_TREE_CASES (40 random tables and configurations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.errors import StorageError
from starskip.star_tree.build import build_subtrees, node_arrays, node_tasks
from starskip.star_tree.documents import Documents
from starskip.star_tree.measures import exact_sums
from starskip.star_tree.measures.values_apart import ValuesApart, parted

CASES = law_cases("STARSKIP_STAR_TREE_CASES", 40)
STAR = "the star"
Prefix = tuple[Any, ...]

_DIMENSIONS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int64(), [-(2**63), -1, 0, 7, 2**63 - 1]),
    "short": (pa.int8(), [-128, 0, 127]),
    "unsigned": (pa.uint64(), [0, 1, 2**64 - 1]),
    "text": (pa.string(), ["", "*", "\\N", "a", "é", "\uffff", "𐀀"]),
    "float": (pa.float64(), [math.nan, -0.0, 0.0, 0.1, math.inf, -math.inf]),
    "single": (pa.float32(), [math.nan, -0.0, 0.0, 0.5]),
    "flag": (pa.bool_(), [False, True]),
    "day": (pa.date32(), [date(1900, 1, 1), date(2026, 11, 18), date(9999, 12, 31)]),
    "moment": (pa.timestamp("us"), [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2026, 1, 1)]),
    "money": (pa.decimal128(38, 2), [Decimal("-0.01"), Decimal("0.00"), Decimal(10**36 - 1)]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\xff"]),
    "category": (pa.dictionary(pa.int8(), pa.string()), ["b", "a"]),
}
_METRICS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "money": (pa.decimal128(15, 2), st.decimals(-(10**12), 10**12, places=2)),
    "long": (pa.decimal128(38, 4), st.decimals(-(10**32), 10**32, places=4)),
    "float": (pa.float64(), st.floats(-1e9, 1e9)),
    "odd": (pa.float64(), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1.5])),
}
_FUNCTIONS = ("SUM", "COUNT", "AVG", "MIN", "MAX", "MINMAXRANGE", "DISTINCTCOUNTHLL", "PERCENTILEEST")


def order_key(value: Any) -> tuple[Any, ...]:
    """Sort by the value's own type; NaN behind all numbers, then null, then the star."""
    if value is STAR:
        return (3,)
    if value is None:
        return (2,)
    if isinstance(value, float) and math.isnan(value):
        return (1,)
    return (0, value.encode() if isinstance(value, str) else value)


def one_of_its_kind(value: Any) -> Any:
    """Return a value that equals all that SQL groups with it."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@dataclass
class NaiveTree:
    """A document is its values and the numbers of its rows; what is measured is computed from the rows."""

    rows: Sequence[Prefix]
    leaf: int
    skipped: Sequence[bool]
    star_documents: list[tuple[Prefix, frozenset[int]]] = field(default_factory=list)
    nodes: dict[Prefix, tuple[Any, Any, int]] = field(default_factory=dict)

    def built(self) -> tuple[list[tuple[Prefix, frozenset[int]]], dict[Prefix, tuple[Any, Any, int]]]:
        base = _together([(values, frozenset([number])) for number, values in enumerate(self.rows)])
        if base:
            self._node((), base)
        documents = base + sorted(self.star_documents, key=_by_values)
        place = {_plain(values): number for number, (values, _) in enumerate(documents)}
        assert len(place) == len(documents), "two documents of the same values"
        return documents, {
            _plain(prefix): (
                None if own is None else [place[_plain(values)] for values in own],
                place[_plain(total)],
                children,
            )
            for prefix, (own, total, children) in self.nodes.items()
        }

    def _node(self, prefix: Prefix, documents: list[tuple[Prefix, frozenset[int]]]) -> Prefix:
        """Build the node of all ``documents``; return the values of its aggregated document."""
        depth, width = len(prefix), len(self.skipped)
        total = prefix + (STAR,) * (width - depth)
        all_rows = frozenset().union(*(rows for _, rows in documents))
        if len(documents) <= self.leaf or depth == width:
            if len(documents) == 1:
                total = documents[0][0]
            else:
                self.star_documents.append((total, all_rows))
            self.nodes[prefix] = [values for values, _ in documents], total, 0
            return total
        self.nodes[prefix] = None, (), 0  # parents stand before their children
        values = {_plain((document[0][depth],)): document[0][depth] for document in documents}
        only = ()
        for key, value in values.items():
            below = [document for document in documents if _plain((document[0][depth],)) == key]
            only = self._node((*prefix, value), below)
        children = len(values)
        if children == 1:
            total = only
        elif self.skipped[depth]:
            self.star_documents.append((total, all_rows))
        else:
            starred = _together([((*v[:depth], STAR, *v[depth + 1 :]), rows) for v, rows in documents])
            self.star_documents += starred
            total = self._node((*prefix, STAR), starred)
            children += 1
        self.nodes[prefix] = None, total, children
        return total


def _together(documents: Sequence[tuple[Prefix, frozenset[int]]]) -> list[tuple[Prefix, frozenset[int]]]:
    found: dict[Prefix, tuple[Prefix, frozenset[int]]] = {}
    for values, rows in documents:
        key = _plain(values)
        found[key] = values, found[key][1] | rows if key in found else rows
    return sorted(found.values(), key=_by_values)


def _by_values(document: tuple[Prefix, frozenset[int]]) -> list[tuple[Any, ...]]:
    return [order_key(value) for value in document[0]]


def _plain(values: Prefix) -> Prefix:
    return tuple(map(one_of_its_kind, values))


def check_measure(kind: str, found: Any, values: list[Any], rows: int) -> None:
    """Compare an intermediate result with what Python makes of the rows' values."""
    present = [value for value in values if value is not None]
    if kind == "rows":
        assert found == rows
    elif kind == "count":
        assert found == len(present)
    elif kind == "hll":
        estimate = datasketches.hll_sketch.deserialize(found).get_estimate()
        distinct = len({one_of_its_kind(value) for value in present})
        assert round(estimate) == distinct  # so few are counted exactly
    elif kind == "kll":
        stored, apart = parted(found)
        sketch = datasketches.kll_doubles_sketch.deserialize(stored)
        assert apart == ValuesApart(nan=sum(map(math.isnan, map(float, present))))
        ranked = sorted(float(value) for value in present if not math.isnan(value))
        assert sketch.n == len(ranked)
        if ranked:
            assert (sketch.get_min_value(), sketch.get_max_value()) == (ranked[0], ranked[-1])
            middle = math.ceil(len(ranked) / 2) - 1
            assert sketch.get_quantile(0.5, True) == ranked[middle]
    elif not present:
        assert found is None
    elif kind == "sum":
        check_sum(found, present)
    else:
        ordered = sorted(present, key=order_key)
        assert one_of_its_kind(found) == one_of_its_kind(ordered[0 if kind == "min" else -1])


def check_sum(found: Any, present: list[Any]) -> None:
    if not isinstance(present[0], float):
        assert Fraction(found) == sum(map(Fraction, present))
    elif all(map(math.isfinite, present)):
        assert found == pytest.approx(math.fsum(present), rel=1e-9, abs=1e-5)
    else:
        infinities = {value for value in present if math.isinf(value)}
        is_nan = any(map(math.isnan, present)) or len(infinities) == 2
        assert math.isnan(found) if is_nan else found == infinities.pop()


@dataclass(frozen=True)
class Case:
    rows: pa.Table
    order: list[str]
    pairs: list[str]
    leaf: int
    skipped: list[str]

    def __repr__(self) -> str:
        return f"Case({self.rows.to_pydict()}, {self.order}, {self.pairs}, {self.leaf}, {self.skipped})"


@st.composite
def cases(draw: Callable[..., Any], most_rows: int = 40) -> Case:
    kinds = draw(st.lists(st.sampled_from(sorted(_DIMENSIONS)), min_size=1, max_size=4))
    count = draw(st.integers(0, most_rows))
    columns: dict[str, pa.Array] = {}
    for number, kind in enumerate(kinds):
        arrow_type, values = _DIMENSIONS[kind]
        allowed = draw(st.lists(st.sampled_from([*values, None]), min_size=1, max_size=5))
        drawn = draw(st.lists(st.sampled_from(allowed), min_size=count, max_size=count))
        columns[f"{kind}{number}"] = pa.array(drawn, arrow_type)
    order = list(columns)
    metrics = draw(st.lists(st.sampled_from(sorted(_METRICS)), max_size=2, unique=True))
    pairs = ["COUNT__*"]
    for metric in metrics:
        arrow_type, numbers = _METRICS[metric]
        drawn = draw(st.lists(st.none() | numbers, min_size=count, max_size=count))
        columns[metric] = pa.array(drawn, arrow_type)
        functions = draw(st.lists(st.sampled_from(_FUNCTIONS), min_size=1, max_size=4, unique=True))
        pairs += [f"{function}__{metric}" for function in functions]
    # A dimension may be measured too.
    pairs += draw(st.sampled_from([[], [f"MAX__{order[0]}", f"MIN__{order[-1]}"]]))
    leaf = draw(st.sampled_from([1, 1, 2, 3, 5, 10_000]))
    skipped = draw(st.lists(st.sampled_from(order), unique=True))
    return Case(pa.table(columns), order, list(dict.fromkeys(pairs)), leaf, skipped)


def naive(case: Case) -> tuple[list[tuple[Prefix, frozenset[int]]], dict[Prefix, tuple[Any, Any, int]]]:
    of_rows = list(zip(*(case.rows.column(name).to_pylist() for name in case.order), strict=True))
    return NaiveTree(of_rows, case.leaf, [name in case.skipped for name in case.order]).built()


def check_case(trees: Any, case: Case, expected: Any = None, **cutting: Any) -> None:
    config = trees.config(" ".join(case.order), " ".join(case.pairs), case.leaf, " ".join(case.skipped))
    tree = trees.build_of(case.rows, config, **cutting).trees[0]
    columns = {name: case.rows.column(name).to_pylist() for name in case.rows.column_names}
    documents, nodes = expected or naive(case)

    def values(found: Prefix) -> Prefix:
        return _plain(tuple(STAR if value is trees.STAR else value for value in found))

    width = len(case.order)
    found = trees.documents_of(tree)
    assert [values(document[:width]) for document in found] == [_plain(document) for document, _ in documents]
    for document, (_, rows) in zip(found, documents, strict=True):
        for measure, result in zip(config.measures, document[width:], strict=True):
            of_column = columns.get(measure.column, [])
            check_measure(measure.kind_name, result, [of_column[row] for row in rows if of_column], len(rows))
    assert {
        values(prefix): (
            None if node.documents is None else list(range(*node.documents)),
            node.aggregated,
            node.children,
        )
        for prefix, node in trees.nodes_of(tree).items()
    } == nodes
    check_invariants(trees, tree, found, width)
    assert tree.rows == case.rows.num_rows
    nulls = {name for name in config.columns if case.rows.column(name).null_count}
    assert tree.columns_with_nulls == nulls


def check_invariants(trees: Any, tree: Any, documents: list[Prefix], width: int) -> None:
    """Check every tree: its order, the bound of its leaves, the places of star children."""
    config = tree.config
    keys = [
        [order_key(STAR if value is trees.STAR else value) for value in document[:width]]
        for document in documents
    ]
    base = next((n for n, key in enumerate(keys) if (3,) in key), len(keys))
    assert all((3,) in key for key in keys[base:])
    for part in (keys[:base], keys[base:]):
        assert part == sorted(part)
    nodes = trees.nodes_of(tree)
    for prefix, node in nodes.items():
        if node.documents is not None:
            assert 0 < node.documents[1] - node.documents[0] <= config.max_leaf_records
            continue
        name = config.dimensions_split_order[len(prefix)]
        has_star = (*prefix, trees.STAR) in nodes
        is_skipped = name in config.skip_star_node_creation_for_dimensions
        assert has_star == (node.children > 1 and not is_skipped)


@pytest.mark.law
@settings(max_examples=CASES)
@given(
    case=cases(),
    documents_per_task=st.sampled_from([1, 2, 3, 5, 9, 20, 500_000]),
    rows_per_task=st.sampled_from([1, 4, 1_000_000]),
    files=st.integers(1, 3),
    row_group_size=st.sampled_from([1, 3, 100]),
)
def test_documents_and_nodes_are_those_of_the_naive_builder(
    trees: Any, case: Case, documents_per_task: int, rows_per_task: int, files: int, row_group_size: int
) -> None:
    check_case(
        trees,
        case,
        documents_per_task=documents_per_task,
        rows_per_task=rows_per_task,
        files=files,
        row_group_size=row_group_size,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("leaf", "skipped"), [(1, []), (30, ["b"])])
def test_a_larger_table_is_cut_in_many_ways_to_the_same_tree(
    trees: Any, leaf: int, skipped: list[str]
) -> None:
    chance = np.random.default_rng(20261118)
    rows = 1500
    skewed = np.where(chance.random(rows) < 0.6, 3, chance.integers(0, 20, rows))
    table = pa.table(
        {
            "a": pa.array(skewed, mask=chance.random(rows) < 0.02),
            "b": chance.integers(0, 9, rows),
            "c": pa.array(np.array(list("pqrs"))[np.minimum(chance.geometric(0.5, rows) - 1, 3)]),
            "m": chance.integers(-(10**17), 10**17, rows),
        }
    )
    case = Case(table, ["a", "b", "c"], ["SUM__m", "MAX__m", "COUNT__*"], leaf, skipped)
    expected = naive(case)
    for documents_per_task in (35, 60, 250, 1000):
        cutting = {"documents_per_task": documents_per_task, "rows_per_task": 400, "row_group_size": 150}
        check_case(trees, case, expected, **cutting)


def unmerged(original: Any) -> Any:
    """Return a fault: the star child's documents are not sorted by the dimensions behind it."""

    def faulty(keys: Any, sizes: Any) -> Any:
        return original(keys[:-1], sizes[:-1]) if len(keys) > 2 else original(keys, sizes)

    return faulty


def one_off(self: Any, *arguments: Any) -> Any:
    placed = _PLACED(self, *arguments)
    placed.aggregated[-1:] = np.maximum(placed.aggregated[-1:] - 1, 0)
    return placed


_PLACED = node_arrays.NodeArrays.placed
_TOTAL = node_tasks.NodeTasks.total
_MERGED = exact_sums.ExactSums.merged


def half_a_total(self: Any, work: Any) -> Any:
    return _TOTAL(self, node_tasks.NodeRange(work.prefix, work.inputs[:1]))


def wrapped(self: Any, starts: Any) -> Any:
    """Return sums that leave 64 bits unnoticed."""
    sums = np.add.reduceat(self.limbs[:1], starts, axis=1) if len(starts) else self.limbs[:1]
    return exact_sums.ExactSums(sums, _MERGED(self, starts).valid, self.scale)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["order", "pointer", "total", "overflow", "leaf", "dropped"])
def test_a_planted_fault_is_found(trees: Any, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    chance = np.random.default_rng(7)
    columns = {name: pa.array(chance.integers(0, 4, 60)) for name in "abc"}
    columns["m"] = pa.array(chance.integers(2**60, 2**62, 60))
    case = Case(pa.table(columns), ["a", "b", "c"], ["SUM__m", "COUNT__*"], 2, ["b"])
    documents_per_task = 1000 if fault == "order" else 8
    check_case(trees, case, documents_per_task=documents_per_task)
    if fault == "order":
        monkeypatch.setattr(build_subtrees, "sorted_runs", unmerged(build_subtrees.sorted_runs))
    elif fault == "pointer":
        monkeypatch.setattr(node_arrays.NodeArrays, "placed", one_off)
    elif fault == "total":
        monkeypatch.setattr(node_tasks.NodeTasks, "total", half_a_total)
    elif fault == "overflow":
        monkeypatch.setattr(exact_sums.ExactSums, "merged", wrapped)
    elif fault == "leaf":
        original = build_subtrees.SplitRules.__init__
        monkeypatch.setattr(
            build_subtrees.SplitRules, "__init__", lambda self, leaf, *rest: original(self, leaf + 1, *rest)
        )
    else:
        with_codes = Documents.with_codes
        monkeypatch.setattr(
            node_tasks.Documents,
            "with_codes",
            lambda self, dimension, code: self if dimension == 0 else with_codes(self, dimension, code),
        )
    # A part that has not the documents that it tells of is noticed by the reader.
    with pytest.raises((AssertionError, StorageError)):
        check_case(trees, case, documents_per_task=documents_per_task)
