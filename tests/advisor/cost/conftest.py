from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from starskip.advisor.cost.bound_filter import FilterBinder, filter_binder, is_served_by_sorting
from starskip.advisor.cost.filter_cost import filter_cost
from starskip.advisor.families.access_rules import AccessRules
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Leaf
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import ColumnWindow, RowWindow

TRUTH = Path(__file__).parents[2] / "data" / "truth"
SAMPLE = Path(__file__).parents[3] / "include" / "sample" / "segments"
HELD_OUT = Path(__file__).parents[3] / "benchmarks" / "data" / "heldout" / "segments"

RULES = AccessRules()

Scanned = Callable[..., float]


@pytest.fixture(scope="session")
def truth() -> Callable[[str], Any]:
    return cache(lambda name: json.loads((TRUTH / f"{name}.json").read_text()))


@pytest.fixture(scope="session")
def scanned() -> Scanned:
    """Predict the entries that a query on whole tables scans: ``scanned(table, sql, inverted, range)``."""

    @cache
    def binders(table: str) -> list[FilterBinder]:
        return _segment_binders(HELD_OUT if table in ("baseballStats", "ghEvents") else SAMPLE, table)

    def predict(table: str, sql: str, inverted: Iterable[str] = (), ranges: Iterable[str] = ()) -> float:
        cut = normalize_sql(sql)
        shape = query_shape(cut.skeleton)

        def answers(leaf: Leaf) -> float | None:
            by_inverted = leaf.column in inverted and RULES.serves("inverted", leaf)
            is_answered = by_inverted or (leaf.column in ranges and RULES.serves("range", leaf))
            return 0.0 if is_answered else None

        return sum(
            filter_cost(binder.bind(shape.filter, cut.literals), answers) * binder.window.segment_rows
            for binder in binders(table)
        )

    return predict


def _segment_binders(root: Path, table: str) -> list[FilterBinder]:
    binders = []
    for file in list_segments(root, [table]):
        facts = read_segment_facts(file)
        window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
        assert not window.unreadable
        sorted_columns = frozenset(column.name for column in facts.columns if column.is_sorted)
        binders.append(
            filter_binder(window, partial(is_served_by_sorting, sorted_columns=sorted_columns, rules=RULES))
        )
    return binders


@pytest.fixture(scope="session")
def window_of() -> Callable[..., RowWindow]:
    """A window from plain lists, one dictionary column each; a list of lists makes a multi-value column."""

    def build(table: str = "t", **columns: list[Any]) -> RowWindow:
        found = {name: _column(values) for name, values in columns.items()}
        rows = len(next(iter(columns.values())))
        return RowWindow(table, "0", rows, rows, found)

    return build


def _column(values: list[Any]) -> ColumnWindow:
    offsets = None
    if values and isinstance(values[0], list):
        offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
        values = [value for row in values for value in row]
    dictionary = pa.array(sorted(set(values)))
    codes = pc.index_in(pa.array(values), value_set=dictionary).to_numpy().astype(np.int32)
    return ColumnWindow(codes, dictionary, offsets)
