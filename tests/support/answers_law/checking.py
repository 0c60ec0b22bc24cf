"""Trees of a table, and whether an answer of theirs is what DuckDB gives for the raw rows."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from answers_law.question import Aggregate, Question
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import Answer, answer_sql
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

DUCKDB = duckdb.connect(config={"threads": 1})
DUCKDB.execute("SET TimeZone = 'UTC'")


@contextmanager
def built(
    table: pa.Table, later: int, configs: tuple[StarTreeConfig, ...], tasks: tuple[int, int]
) -> Iterator[TreeSet]:
    """The trees of a table in two files, of which the second came after the first build."""
    with tempfile.TemporaryDirectory() as folder:
        source, store = Path(folder, "rows"), ArtefactStore(storage_for(f"{folder}/trees"))
        source.mkdir()
        order = TreeOrder("rows", str(source), configs, {})
        pieces = [table.slice(0, later), table.slice(later)] if 0 < later < len(table) else [table]
        for number, piece in enumerate(pieces):
            pq.write_table(piece, source / f"{number}.parquet", row_group_size=7)
            publish_trees(
                lambda _, items, function: [function(item) for item in items],
                store,
                order,
                now=datetime.now(UTC) + timedelta(hours=1),
                created_by="law",
                rows_per_task=tasks[0],
                documents_per_task=tasks[1],
            )
        yield open_trees(store)


def check(table: pa.Table, trees: TreeSet, question: Question) -> Answer:
    answer = answer_sql(trees, question.asked(), question.dialect)
    DUCKDB.register("rows_of_table", table)
    expected = DUCKDB.execute(question.reference()).fetchall()
    found = [tuple(row) for row in zip(*(column.to_pylist() for column in answer.table.columns), strict=True)]
    told = f"\nasked:     {question.asked()}\nreference: {question.reference()}"
    told += f"\nfound:    {found}\nexpected: {expected}\nrows:     {table.to_pylist()}"
    if question.limit is not None and not question.order:
        wanted = max(min(question.limit[0], len(expected) - question.limit[1]), 0)
        assert len(found) == wanted, told
    else:
        assert len(found) == len(expected), told
    groups = len(question.groups)
    if not question.order:
        by_group = {_key(row[:groups]): row for row in expected}
        assert len({_key(row[:groups]) for row in found}) == len(found), told
        assert all(_key(row[:groups]) in by_group for row in found), told
        expected = [by_group[_key(row[:groups])] for row in found]
    for row, wanted_row in zip(found, expected, strict=True):
        assert _key(row[:groups]) == _key(wanted_row[:groups]), told
        for each, value, wanted_value in zip(
            question.aggregates, row[groups:], wanted_row[groups:], strict=True
        ):
            assert agrees(each, value, wanted_value, answer), (
                f"{each}: {value!r} is not {wanted_value!r}{told}"
            )
    return answer


def _key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """NaN is one group, and so are both zeros; a moment is one, whatever its zone is called."""
    return tuple(
        "NaN"
        if isinstance(value, float) and math.isnan(value)
        else value.astimezone(UTC)
        if isinstance(value, datetime) and value.tzinfo
        else value
        for value in row
    )


def agrees(aggregate: Aggregate, value: Any, wanted: Any, answer: Answer) -> bool:
    """Exactly; doubles to a tolerance; sketches within the bound that the answer states."""
    if aggregate.function == "DISTINCTCOUNTHLL":
        return abs(value - wanted) <= _ratio(answer, aggregate) * wanted + 0.5
    if aggregate.function.startswith("PERCENTILE"):
        return _rank_agrees(aggregate, value, wanted, _ratio(answer, aggregate) if answer.star_tree else 0.0)
    if isinstance(value, float) and wanted is not None:
        both_nan = math.isnan(value) and math.isnan(wanted)
        return both_nan or math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(value, datetime) and value.tzinfo:
        return bool(value.astimezone(UTC) == wanted.astimezone(UTC))
    return bool(value == wanted)


def _ratio(answer: Answer, aggregate: Aggregate) -> float:
    if not answer.star_tree:
        return 0.0
    stated = {"DISTINCTCOUNTHLL": "HyperLogLog", "PERCENTILEEST": "KLL", "PERCENTILETDIGEST": "t-digest"}
    return next(a.ratio for a in answer.approximations if a.bound.startswith(stated[aggregate.function]))


def _rank_agrees(aggregate: Aggregate, value: Any, ordered: list[Any] | None, ratio: float) -> bool:
    if not ordered:
        return value is None
    values = np.array([float(each) for each in ordered])
    # One value of few is a coarse step; a t-digest lies between two of them.
    slack = ratio + (1 if aggregate.function == "PERCENTILETDIGEST" else 1e-9) / len(values)
    is_nan = np.isnan(values)
    if math.isnan(value):  # the greatest
        below, up_to = (~is_nan).mean(), 1.0
    else:
        below, up_to = (values < float(value) - 1e-9).mean(), (values <= float(value) + 1e-9).mean()
    return bool(below - slack <= aggregate.percentile / 100 <= up_to + slack)
