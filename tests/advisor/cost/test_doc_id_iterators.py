"""The compiled walk against the same iterators row by row in Python: same matches, same entries."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pinot_iterators as reference
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pinot_iterators import ROWS
from starskip.advisor.cost import doc_id_iterators
from starskip.advisor.cost.doc_id_iterators import (
    AndIterator,
    Bitmap,
    DocIdIterator,
    NotIterator,
    OrIterator,
    Scan,
    walk,
)

EXPRESSION_ROWS = doc_id_iterators.EXPRESSION_BLOCK_ROWS
COUNTS = np.random.default_rng(3).integers(0, 6, ROWS).astype(np.int32)


def masks() -> st.SearchStrategy[np.ndarray]:
    # Runs of rows rather than single ones: long leaps and long batches both come up.
    runs = st.lists(st.tuples(st.integers(1, 90), st.booleans()), min_size=1, max_size=40)
    return runs.map(lambda found: np.resize([flag for length, flag in found for _ in range(length)], ROWS))


def trees() -> st.SearchStrategy[DocIdIterator]:
    leaf = st.one_of(
        st.builds(Bitmap, masks()),
        st.builds(Scan, masks()),
        st.builds(lambda mask: Scan(mask, COUNTS), masks()),
        st.builds(lambda mask: Scan(mask, is_expression=True), masks()),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(AndIterator, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(OrIterator, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(NotIterator, inner),
        ),
        max_leaves=7,
    )


def python_iterator(tree: DocIdIterator, run: reference.Run) -> Any:
    match tree:
        case Bitmap(mask):
            return reference.Bitmap(set(np.flatnonzero(mask).tolist()))
        case Scan(mask, counts, is_expression):
            rows = set(np.flatnonzero(mask).tolist())
            if is_expression:
                return reference.Expression(rows, run, EXPRESSION_ROWS)
            return (
                reference.Scan(rows, run) if counts is None else reference.MultiValueScan(rows, counts, run)
            )
        case AndIterator(children):
            return reference.And([python_iterator(child, run) for child in children])
        case OrIterator(children):
            return reference.Or([python_iterator(child, run) for child in children])
        case NotIterator(child):
            return reference.Not(python_iterator(child, run))


def matching(tree: DocIdIterator) -> np.ndarray:
    match tree:
        case Bitmap(mask) | Scan(mask):
            return mask
        case AndIterator(children):
            return np.logical_and.reduce([matching(child) for child in children])
        case OrIterator(children):
            return np.logical_or.reduce([matching(child) for child in children])
        case NotIterator(child):
            return ~matching(child)


# Trees of long masks take their time to draw on a loaded machine.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(tree=trees(), limit=st.one_of(st.none(), st.integers(0, ROWS)))
def test_the_walk_reads_what_the_iterators_read(tree: DocIdIterator, limit: int | None) -> None:
    run = reference.Run("")
    iterator = python_iterator(tree, run)
    found: list[int] = []
    is_ended = False
    while limit is None or len(found) < limit:
        row = iterator.next()
        if row >= ROWS:
            is_ended = True
            break
        found.append(row)
    assert found == np.flatnonzero(matching(tree)).tolist()[: len(found)]
    walked = walk(tree, ROWS, limit)
    assert (walked.entries, walked.matches, walked.is_ended) == (run.read, len(found), is_ended)


def test_a_block_of_an_expression_is_not_evaluated_twice() -> None:
    rows = 25_000
    first, second = np.arange(rows) % 3 == 0, np.arange(rows) % 50 == 0
    found = walk(AndIterator((Scan(first, is_expression=True), Scan(second, is_expression=True))), rows)
    assert found.entries == pytest.approx(2 * rows, abs=100)


def test_without_a_folder_for_compiled_code_each_process_compiles() -> None:
    """As in a container whose file system cannot be written, or for a user without a home."""
    walks = "import numpy as np; from starskip.advisor.cost.doc_id_iterators import Scan, walk; "
    asked = walks + "print(walk(Scan(np.arange(1000) % 2 == 0), 1000).entries)"
    # The one locator of Numba's that finds no place for a module.
    nowhere = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "IPythonCacheLocator"}
    ran = subprocess.run([sys.executable, "-c", asked], env=nowhere, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("1000\n", "")


def test_not_of_an_equality_costs_more_than_its_unequal_twin() -> None:
    # Measured: NOT teamID = 'NYA' AND league = 'NL' 2.64 rows, teamID <> 'NYA' 1.61 rows.
    random = np.random.default_rng(5)
    team, league = random.random(4096) < 0.03, random.random(4096) < 0.5
    around = walk(AndIterator((NotIterator(Scan(team)), Scan(league))), 4096)
    twin = walk(AndIterator((Scan(~team), Scan(league))), 4096)
    assert around.entries > 1.4 * twin.entries


def test_not_of_a_scan_under_an_index_reads_batches_again_and_again() -> None:
    # NOT c IN (half of the rows) AND b = 1, b indexed: 256 rows are read for each row that c excludes.
    random = np.random.default_rng(6)
    excluded, indexed = random.random(100_000) < 0.5, random.random(100_000) < 0.15
    found = walk(AndIterator((Bitmap(indexed), NotIterator(Scan(excluded)))), 100_000)
    assert found.entries > 10 * 100_000


def test_an_and_below_a_not_begins_anew_at_the_end() -> None:
    none = np.zeros(ROWS, dtype=bool)
    found = walk(NotIterator(AndIterator((Scan(none), Scan(none)))), ROWS)
    assert (found.entries, found.matches) == (2 * ROWS, ROWS)
