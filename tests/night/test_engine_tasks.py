"""Tasks in one process: order, parts, errors, nothing to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import SourceError
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine, LocalRows

TASKS = EngineTasks(LocalEngine())


@given(st.lists(st.one_of(st.integers(), st.text(), st.none(), st.tuples(st.floats(allow_nan=False)))))
def test_results_come_in_the_order_of_the_items_as_the_values_that_they_are(items: list[object]) -> None:
    assert TASKS.run_tasks("pairs", items, lambda item: [item, "of it"]) == [[i, "of it"] for i in items]


def test_an_error_of_a_task_is_the_callers() -> None:
    def fail(item: int) -> int:
        raise SourceError(f"file {item} is gone", source=str(item))

    with pytest.raises(SourceError, match="file 7 is gone"):
        TASKS.run_tasks("files", [7], fail)


def test_progress_sees_each_item_as_it_is_done() -> None:
    done: list[object] = []

    def shown(items: object) -> object:
        for item in items:  # type: ignore[attr-defined]
            yield item
            done.append(item)

    engine = LocalEngine(shown)  # type: ignore[arg-type]
    assert EngineTasks(engine).run_tasks("letters", "abc", str.upper) == ["A", "B", "C"]
    assert done == [(0, "a"), (1, "b"), (2, "c")]


class CutEngine(LocalEngine):
    """An engine that cuts items into parts of ``ITEMS`` and gives those of the last part first."""

    ITEMS = 3

    def rows_of_items(self, items: Sequence[Any], function: Any, schema: pa.Schema) -> LocalRows:
        parts = [items[start : start + self.ITEMS] for start in range(0, len(items), self.ITEMS)]
        return LocalRows(lambda: chain.from_iterable(map(function, reversed(parts))), schema)


@given(st.lists(st.integers(0, 2)))
def test_results_of_parts_come_in_the_order_of_the_items(items: list[int]) -> None:
    def alike(part: Iterable[int]) -> Iterator[list[int]]:
        for _, of_one in groupby(part):
            yield list(of_one)

    found = EngineTasks(CutEngine()).run_parts("alike", items, alike)
    assert [item for of_one in found for item in of_one] == items
    assert EngineTasks(CutEngine()).run_tasks("items", items, str) == list(map(str, items))
