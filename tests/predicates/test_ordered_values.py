"""Keys in Spark's order, held against the order of the values themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.predicates import TYPES
from skipping_law.sparks_rows import order_key
from starskip.predicates.data_types import arrow_type_of
from starskip.predicates.ordered_values import (
    at_most,
    below,
    equal,
    in_set,
    order_keys,
    positions,
    same_order,
    sorted_keys,
)
from starskip.predicates.prefix_bounds import first_after, long_bounds_cut


@pytest.mark.parametrize("data_type", TYPES)
def test_comparisons_of_columns_are_those_of_values(data_type):
    kind, values = TYPES[data_type]
    assert arrow_type_of(data_type) == kind

    @settings(max_examples=30, deadline=None)
    @given(st.lists(values, min_size=1, max_size=8), values, st.integers(0, 3))
    def law(found, bound, start):
        # What is sliced begins elsewhere in its buffers.
        keys = order_keys(pa.array([*[None] * start, *found], kind).slice(start))
        one = order_keys(pa.array([bound], kind))
        ranks, rank = [order_key(each) for each in found], order_key(bound)
        assert below(keys, one).tolist() == [each < rank for each in ranks]
        assert at_most(keys, one).tolist() == [each <= rank for each in ranks]
        assert in_set(keys, one).tolist() == [each == rank for each in ranks]
        assert in_set(one, keys).tolist() == [rank in ranks]
        assert equal(
            keys,
            keys[::-1] if isinstance(keys, np.ndarray) else keys.take(pa.array(range(len(keys) - 1, -1, -1))),
        ).tolist() == [a == b for a, b in zip(ranks, ranks[::-1], strict=True)]
        ordered = sorted_keys(keys)
        assert positions(ordered, one).tolist() == [sum(each < rank for each in ranks)]
        assert positions(ordered, one, "right").tolist() == [sum(each <= rank for each in ranks)]

    law()


def test_types_compare_with_themselves_only():
    kinds = [kind for kind, _ in TYPES.values()]
    for left in kinds:
        assert [same_order(left, right) for right in kinds] == [left == right for right in kinds]
    assert same_order(pa.string(), pa.large_string())
    assert same_order(pa.decimal128(9, 2), pa.decimal128(20, 2))


@given(st.binary(max_size=4), st.binary(max_size=5))
def test_what_comes_after_all_that_begin_alike(prefix, value):
    after = first_after(prefix)
    inside = prefix <= value and (after is None or value < after)
    assert inside == value.startswith(prefix)


LONG = st.text("a\ud7ff\U0010ffff\uffffé", max_size=4).map(lambda each: each * 80)


@given(st.lists(st.tuples(LONG, LONG).map(sorted), min_size=1))
def test_bounds_of_long_texts_are_wider_and_short(pairs):
    pairs = [sorted(each, key=str.encode) for each in pairs]
    least, greatest = (pa.array([each[at] for each in pairs]) for at in (0, 1))
    low, high = long_bounds_cut(least, greatest)
    for (wanted_low, wanted_high), found_low, found_high in zip(
        pairs, low.to_pylist(), high.to_pylist(), strict=True
    ):
        assert found_low.encode() <= wanted_low.encode() and len(found_low.encode()) <= 256
        assert found_high is None or found_high.encode() >= wanted_high.encode()
        assert found_high is None or len(found_high.encode()) <= 259
        assert found_high is not None or set(wanted_high.encode()[:256]) <= set("\U0010ffff".encode())


@given(st.lists(st.binary(max_size=3).map(lambda each: each * 100), min_size=1))
def test_bounds_of_long_bytes(values):
    low, high = long_bounds_cut(pa.array(values), pa.array(values))
    assert all(a <= b and len(a) <= 256 for a, b in zip(low.to_pylist(), values, strict=True))
    assert all(a is None or a >= b for a, b in zip(high.to_pylist(), values, strict=True))
