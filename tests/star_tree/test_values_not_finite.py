"""NaN, infinities, both zeros and nulls: every aggregate of a tree follows the rule of a scan.

Environment: STARSKIP_STAR_TREE_CASES (40 random tables).
"""

from __future__ import annotations

import base64
import math
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.sql.sandboxed_duckdb import locked_database
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.document_rows import document_rows
from starskip.star_tree.measure import MeasureKind
from starskip.star_tree.measures.sketch_answers import error_bound, percentiles
from starskip.star_tree.measures.sketches import SketchedRows
from starskip.star_tree.serving import answer_from_files as from_files_module
from starskip.star_tree.serving.answer_from_files import answer_from_files
from starskip.star_tree.serving.answer_sql import answer_from_tree
from starskip.star_tree.serving.tree_set import TreeSet

CASES = law_cases("STARSKIP_STAR_TREE_CASES", 40)
PAIRS = [
    f"{function}__{column}"
    for function in (
        *("COUNT", "SUM", "MIN", "MAX", "AVG", "MINMAXRANGE"),
        *("DISTINCTCOUNTHLL", "PERCENTILEEST", "PERCENTILETDIGEST"),
    )
    for column in ("x", "y")
]
ODD = [math.nan, math.inf, -math.inf, -0.0, 0.0, None]
POOLS = ([1.0, 1.5, -2.0, 3.25], [1.0, 3.25, 1e300, 5e-324], [-2.0, -1.5, -1e300, -5e-324])
"""Numbers whose sums are the same in any order; where great ones cancel, the order decides what is left."""
PERCENTS = st.sampled_from([0, 1, 7, 25, 28, 50, 56, 75, 90, 95, 99, 99.9, 1.1, 100])
"""Some are such that the product of floats is above the place in whole numbers."""


def same(one: Any, other: Any) -> bool:
    """Equal as texts are, so that -0.0 is another answer than 0.0; sums to their last digits."""
    if isinstance(one, float) and isinstance(other, float) and math.isfinite(one) and one:
        return math.isclose(one, other, rel_tol=1e-9)
    return repr(one) == repr(other)


def ranked(values: Sequence[float | None]) -> list[float]:
    """The values in their order, of which NaN is the greatest."""
    return sorted((v for v in values if v is not None), key=lambda v: (math.isnan(v), v))


def exact(values: Sequence[float | None], percent: float) -> float | None:
    order = ranked(values)
    place = max(math.ceil(Fraction(repr(float(percent))) / 100 * len(order)), 1)
    return order[place - 1] + 0.0 if order else None


def rank_error(values: Sequence[float | None], percent: float, found: float) -> float:
    """The distance between the ranks of a value and the rank asked for, as a share of all values."""
    order = ranked(values)
    at_most = [v for v in order if math.isnan(found) or (not math.isnan(v) and v <= found)]
    below = [v for v in order if not math.isnan(v) and (math.isnan(found) or v < found)]
    low, high = len(below) / len(order), len(at_most) / len(order)
    return max(low - percent / 100, percent / 100 - high, 0.0)


def rows_of(pool: list[float]) -> st.SearchStrategy[list[Any]]:
    numbers = st.sampled_from([*ODD, *ODD, *pool, *pool])
    return st.lists(st.tuples(st.sampled_from("ab"), numbers, numbers), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def one_database() -> Iterator[None]:
    """Scans share a database, which takes longer to open than a scan of so few rows."""
    database = locked_database(threads=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_files_module, "locked_database", lambda threads: database)
        yield


@pytest.mark.law
@pytest.mark.usefixtures("one_database")
@settings(max_examples=CASES)
@given(
    rows=st.sampled_from(POOLS).flatmap(rows_of),
    files=st.sampled_from([1, 3]),
    leaf=st.sampled_from([1, 100]),
    percent=PERCENTS,
)
def test_every_aggregate_is_that_of_a_scan(
    trees: Any, rows: list[Any], files: int, leaf: int, percent: float
) -> None:
    table = pa.table(
        {
            "a": pa.array([row[0] for row in rows]),
            "b": pa.array([row[1] for row in rows], pa.float64()),
            "x": pa.array([row[1] for row in rows], pa.float64()),
            "y": pa.array([row[2] for row in rows], pa.float32() if leaf == 1 else pa.float64()),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        step = -(-len(rows) // files)
        for number in range(files):
            pq.write_table(table.slice(number * step, step), Path(folder, f"{number}.parquet"))
        opened = trees.build(folder, trees.config("a b", " ".join(PAIRS), leaf), rows_per_task=5)
        require_as_scanned(opened, source_table(folder), percent)


def require_as_scanned(opened: TreeSet, source: SourceTable, percent: float) -> None:
    selected = ", ".join(
        f"{function}({column}{f', {percent}' if function.startswith('PERCENTILE') else ''})"
        for function, _, column in (pair.partition("__") for pair in PAIRS)
    )
    for query in (
        f"SELECT {selected} FROM t",
        f"SELECT a, {selected} FROM t GROUP BY a ORDER BY a",
        f"SELECT b, {selected} FROM t WHERE a = 'a' GROUP BY b ORDER BY b",
        f"SELECT {selected} FROM t WHERE b > 0",
        f"SELECT {selected} FROM t WHERE NOT b <= 1",
    ):
        found = answer_from_tree(opened, query)
        assert not isinstance(found, str), found
        scanned, _, _ = answer_from_files(source, query, "pinot")
        ours = list(zip(*(c.to_pylist() for c in found.table.columns), strict=True))
        theirs = list(zip(*(c.to_pylist() for c in scanned.columns), strict=True))
        assert len(ours) == len(theirs)
        names = [None] * (len(found.table.column_names) - len(PAIRS)) + PAIRS
        for row, other in zip(ours, theirs, strict=True):
            for name, one, two in zip(names, row, other, strict=True):
                if name is None or not name.startswith("PERCENTILETDIGEST"):
                    assert same(one, two), (query, name, one, two)
                else:
                    assert (one is None) == (two is None)
                    kinds = [(math.isnan(v), math.isinf(v) and v) for v in (one, two) if v is not None]
                    assert kinds[:1] == kinds[1:], (query, name, one, two)


@settings(max_examples=CASES)
@given(
    seed=st.integers(0, 2**32),
    shares=st.tuples(*[st.sampled_from([0.0, 0.001, 0.1, 0.5])] * 3),
    pieces=st.sampled_from([1, 2, 7, 40]),
    percent=PERCENTS,
    kind=st.sampled_from([MeasureKind.KLL, MeasureKind.T_DIGEST]),
)
def test_the_stated_bound_holds_of_merged_sketches(
    seed: int, shares: tuple[float, ...], pieces: int, percent: float, kind: MeasureKind
) -> None:
    chance = np.random.default_rng(seed)
    numbers = np.round(chance.normal(0, 100, 4_000), 1)
    for share, value in zip(shares, (math.nan, math.inf, -math.inf), strict=True):
        numbers[chance.random(len(numbers)) < share] = value
    rows = SketchedRows(pa.array(numbers), kind)
    of_pieces = rows.merged(np.arange(0, len(numbers), len(numbers) // pieces))
    (found,) = percentiles(of_pieces.merged(np.array([0])).results(), kind, percent).to_pylist()
    # A share of all sketches may be off further; none of these is, by twice as much.
    assert rank_error(numbers.tolist(), percent, found) <= 2 * error_bound(kind).ratio
    if not pieces > 1 and kind is MeasureKind.T_DIGEST:
        assert rank_error(numbers.tolist(), percent, found) <= error_bound(kind).ratio


@pytest.mark.parametrize("kind", [MeasureKind.KLL, MeasureKind.T_DIGEST])
@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, math.nan],
        [math.nan],
        [None, math.nan],
        [None],
        [-math.inf, math.inf],
        [-math.inf, 1.0, math.inf],
    ],
)
@pytest.mark.parametrize("percent", [0, 28, 50, 67, 100])
def test_few_values_have_their_ranks(kind: MeasureKind, values: list[Any], percent: float) -> None:
    rows = SketchedRows(pa.array(values, pa.float64()), kind)
    for merged in (rows.merged(np.array([0])), rows.merged(np.arange(len(values))).merged(np.array([0]))):
        (found,) = percentiles(merged.results(), kind, percent).to_pylist()
        assert repr(found) == repr(exact(values, percent))


@pytest.mark.parametrize("count", [25, 50, 75])
def test_few_values_are_exact_at_every_percentile(count: int) -> None:
    """0.28 * 25 is above 7 in floats, and the value of rank 8 is off by more than the bound."""
    for percent in range(101):
        rows = SketchedRows(pa.array(np.arange(float(count))), MeasureKind.KLL)
        (found,) = percentiles(rows.merged(np.array([0])).results(), MeasureKind.KLL, percent).to_pylist()
        assert found == exact(list(range(count)), percent), percent


def test_documents_print_a_sketch_that_any_program_reads(trees: Any) -> None:
    rows = {"a": ["p", "q"] * 3, "x": [1.0, 2.0, math.nan, 3.0, -math.inf, math.nan]}
    opened = trees.build_of(rows, trees.config("a", "PERCENTILEEST__x PERCENTILETDIGEST__x"))
    printed = {row[0]: row[1:] for row in document_rows(opened.trees[0])}
    told = {
        "p": ("|NaN:1", "|-Infinity:1|NaN:1"),
        "q": ("|NaN:1", "|NaN:1"),
        "*": ("|NaN:2", "|-Infinity:1|NaN:2"),
    }
    for value, (kll, digest) in printed.items():
        for text, apart, kind in (
            (kll, told[value][0], datasketches.kll_doubles_sketch),
            (digest, told[value][1], datasketches.tdigest_double),
        ):
            sketch, bar, rest = text.partition("|")
            assert bar + rest == apart
            assert not kind.deserialize(base64.b64decode(sketch)).is_empty()
