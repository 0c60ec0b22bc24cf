"""Distinct numbers are those that NumPy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from starskip.tables.distinct_numbers import distinct_numbers


@given(
    arrays(
        st.sampled_from([np.int64, np.uint64, np.int32, np.bool_]),
        array_shapes(min_dims=1, max_dims=2, min_side=0),
    )
)
def test_as_unique(values: np.ndarray) -> None:
    found = distinct_numbers(values)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, np.unique(values))
