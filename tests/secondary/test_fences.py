"""Fences of a block tell at least and at most how many entries a range of keys has, and many need no read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skipping_tables import aged
from starskip.errors import StorageError
from starskip.predicates.ordered_values import order_keys
from starskip.secondary import build_run, open_table, run_files
from starskip.secondary.check_indexes import UNLIKE, check_indexes
from starskip.secondary.fences import FENCES, Fences, fences_of
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.postings import PostingReader
from starskip.storage.files.bytes_read import counted_bytes

TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "int": (pa.int64(), int),
    "text": (pa.string(), lambda each: f"{each:09}" * (1 + each % 40)),
    "decimal": (pa.decimal128(20, 2), lambda each: Decimal(each).scaleb(-2)),
    "double": (pa.float64(), lambda each: float("nan") if each > 980 else each / 7),
    "time": (pa.timestamp("us"), int),
}


def keys_of(kind: str, numbers: list[int]) -> pa.Array:
    """Keys of a type, in the order of the numbers."""
    arrow, made = TYPES[kind]
    return pa.array([made(each) for each in numbers], arrow)


def block(kind: str, numbers: list[int], entries: list[int]) -> tuple[Fences, pa.Array]:
    """The fences of a block with these keys, and the keys."""
    keys = keys_of(kind, numbers)
    rows = pa.table({"key": keys, "entries": pa.array(entries, pa.int64())})
    found = fences_of(rows, np.array([0]), np.array([len(keys)]))
    kept, places, before = (found[name][0].values for name in FENCES)
    of_block = Fences(
        order_keys(kept),
        np.append(places.to_numpy(), len(keys)),
        np.append(before.to_numpy(), sum(entries)),
    )
    return of_block, keys


@given(data=st.data(), kind=st.sampled_from(sorted(TYPES)))
def test_the_entries_of_a_range_lie_between_what_fences_tell(data: st.DataObject, kind: str) -> None:
    most = 980 if kind == "double" else 1_000
    random = Random(data.draw(st.integers(0, 1 << 32)))
    numbers = sorted(random.sample(range(most), random.choice([1, 2, 60, 64, 65, 100, 300])))
    longest = random.choice([2, 9, 100_000])
    entries = [random.randint(2, random.choice([2, longest])) for _ in numbers]
    of_block, keys = block(kind, numbers, entries)
    assert of_block.fit(order_keys(keys), np.array(entries))
    # Of no row but one that has it alone more than about an equal part is in doubt.
    gaps = np.diff(of_block.before)[np.diff(of_block.rows) > 1]
    most_fences = len(of_block.rows) - 1
    assert kind == "text" or (gaps <= 2 * sum(entries) / min(64, most_fences)).all()
    low, high = sorted(data.draw(st.tuples(st.integers(0, most), st.integers(0, most))))
    ends = [None if data.draw(st.booleans()) else keys_of(kind, [each]) for each in (low, high)]
    wanted = KeyRange(*ends, data.draw(st.booleans()), data.draw(st.booleans()))
    truth = sum(
        count
        for number, count in zip(numbers, entries, strict=True)
        if (wanted.low is None or number > low or (number == low and wanted.low_included))
        and (wanted.high is None or number < high or (number == high and wanted.high_included))
    )
    least, told = of_block.count(*(None if each is None else order_keys(each) for each in ends), wanted)
    assert least <= truth <= told
    if len(numbers) <= 64 and kind != "text":
        assert least == truth == told


@pytest.fixture(params=[24, 512])
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose column has 2,000 keys, one of them in half of the rows; all are lists, or one is."""
    monkeypatch.setattr(build_run, "LONG_LIST_ENTRIES", request.param)
    drawn = np.random.default_rng(3)
    keys = np.where(drawn.random(150_000) < 0.5, 777, drawn.integers(0, 2_000, 150_000))
    texts = pc.utf8_lpad(pc.cast(pa.array(keys), pa.string()), 6, "0")
    pq.write_table(pa.table({"k": keys, "t": texts}), tmp_path / "a.parquet")
    aged(tmp_path)
    return tmp_path


WHERE = ["k < 900", "k >= 250 AND k < 1900", "t >= '000250' AND t < '001900'", "t <= '000777'", "k > 777"]


@pytest.mark.parametrize("where", WHERE)
def test_wide_ranges_of_keys_with_many_entries_are_counted_unread(folder: Path, where: str) -> None:
    create_indexes(str(folder), ["btree:k", "btree:t"])
    state = open_table(str(folder)).opened.now()
    path = state.condition(where)[1].paths[0]
    reader = PostingReader(state.segments)
    for segment in state.segments:
        # Footers and bounds are read by any question.
        assert all(run.row_groups and run.bounds.num_rows for run in segment.runs[path.index.specification])
    with counted_bytes() as read:
        counted = reader.count(path)
    assert read.bytes == 0
    truth = open_table(str(folder)).answer(where, is_count=True, path=["scan"]).count
    assert abs(counted - truth) <= 0.05 * truth


@pytest.mark.parametrize("name", FENCES)
def test_a_check_finds_fences_that_are_not_those_of_their_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def shifted(rows: pa.Table, starts: Any, ends: Any) -> dict[str, pa.Array]:
        found = fences_of(rows, starts, ends)
        lists = [each and [each[0], *(one + 1 for one in each[1:])] for each in found[name].to_pylist()]
        return found | {name: pa.array(lists, found[name].type)}

    monkeypatch.setattr(run_files, "fences_of", shifted)
    create_indexes(str(folder), ["btree:k"])
    with pytest.raises(StorageError, match=UNLIKE):
        check_indexes(str(folder))
