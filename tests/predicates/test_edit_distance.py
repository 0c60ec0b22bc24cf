"""Levenshtein distances of many texts at once, against the table of one pair at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skipping_law.sparks_rows import levenshtein
from starskip.predicates import edit_distance
from starskip.predicates.edit_distance import edit_distances

TEXT = st.text("abé\U0001f600", max_size=6)


@given(st.lists(TEXT | st.none(), max_size=8), TEXT, st.integers(1, 9))
def test_each_text_has_the_distance_of_its_pair(texts: list[str | None], other: str, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(edit_distance, "_CELLS_AT_ONCE", at_once * 8)
        found = edit_distances(pa.array(texts, pa.string()), other)
    assert found.type == pa.int32()
    assert found.to_pylist() == [None if each is None else levenshtein(each, other) for each in texts]


def test_above_the_limit_of_cells_no_distance_is_known() -> None:
    texts = pa.array(["ab", "abc", "ab", None])
    assert edit_distances(texts, "a", most_cells=2 * 4 * 2).to_pylist() == [1, 2, 1, None]
    assert edit_distances(texts, "a", most_cells=2 * 4 * 2 - 1).to_pylist() == [None] * 4
