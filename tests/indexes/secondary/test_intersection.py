"""The k-way intersection is that of sets, and reads no input further than the end of the shortest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.indexes.secondary import intersection
from starskip.indexes.secondary.intersection import Addresses, SortedInput, intersect

_INPUTS = st.lists(st.lists(st.integers(0, 60), unique=True).map(sorted), min_size=1, max_size=5)


def pieces(values: list[int], length: int) -> Iterator[Addresses]:
    for start in range(0, len(values), length):
        yield np.array(values[start : start + length], np.uint64)


@given(_INPUTS, st.integers(1, 9))
def test_it_yields_what_all_inputs_have(inputs: list[list[int]], length: int) -> None:
    found = list(map(int, intersect([SortedInput(pieces(each, length)) for each in inputs])))
    assert found == sorted(set.intersection(*map(set, inputs)))


def test_it_ends_as_soon_as_one_input_ends() -> None:
    short = SortedInput(pieces([5, 9], 100))
    long = SortedInput(pieces(list(range(1_000_000)), 64))
    assert list(map(int, intersect([short, long]))) == [5, 9]
    assert long.addresses_read == 64


def test_it_gallops_over_what_does_not_match() -> None:
    values = np.arange(1 << 20, dtype=np.uint64)
    long = SortedInput([values])
    assert list(map(int, intersect([SortedInput([values[[-1]]]), long]))) == [len(values) - 1]
    assert long.comparisons <= 21


def test_an_end_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: SortedInput) -> np.uint64 | None:
        return None if self._at >= len(self._piece) and self.addresses_read > 0 else sound(self)

    sound = SortedInput.head
    monkeypatch.setattr(intersection.SortedInput, "head", cut)
    inputs = [SortedInput(pieces([1, 2, 3, 4], 2)), SortedInput(pieces([1, 2, 3, 4], 2))]
    assert list(map(int, intersect(inputs))) != [1, 2, 3, 4]
