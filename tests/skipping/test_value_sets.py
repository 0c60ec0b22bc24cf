"""Sets of values: texts that are no UTF-8, patterns that are none, slices of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skipping_law.files_metadata import Collected, files_read
from skipping_law.sparks_rows import like
from skipping_law.written import compared
from starskip.predicates.comparison import comparison_of
from starskip.predicates.like_pattern import Wildcard, like_parts, like_prefix, like_suffix
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.index_types.value_list import ValueList
from starskip.skipping.value_sets import is_evaluable, satisfying, with_valid_texts


def test_texts_that_are_no_utf8_are_not_known():
    raw = pa.array([[b"a", b"\xff"], [b"b"], None, []], pa.list_(pa.binary()))
    texts = pa.ListArray.from_arrays(raw.offsets, raw.values.view(pa.string()), mask=raw.is_null())
    assert with_valid_texts(texts).to_pylist() == [None, ["b"], None, []]
    metadata = Collected(4, {"valuelist:c": ValueList(["c"]).finish(pa.table({"values": texts}))})
    read = files_read(compared("like", "_"), [ValueList(["c"])], metadata)
    assert read == [True, True, True, False]


ALPHABET = "ab%_\\é\U0001f600\n.*^$(\x00"


@given(st.text(ALPHABET, max_size=6), st.lists(st.text(ALPHABET, max_size=6), min_size=1))
def test_like_of_a_column(pattern, texts):
    found = comparison_of(compared("like", pattern))
    assert found is not None
    if like_parts(pattern) is None:
        assert not is_evaluable(found)
        return
    wanted = [like(each, pattern) for each in texts]
    assert satisfying(pa.array(texts), found).tolist() == wanted
    for text, matches in zip(texts, wanted, strict=True):
        if matches:
            assert text.startswith(like_prefix(pattern)) and text.endswith(like_suffix(pattern))


@pytest.mark.parametrize(
    ("pattern", "escape", "parts"),
    [
        ("a%b_", "\\", ("a", Wildcard.ANY, "b", Wildcard.ONE)),
        ("a\\%\\_\\\\", "\\", ("a%_\\",)),
        ("a#%#\\", "#", None),
        ("a\\", "\\", None),
        ("a\\b", "\\", None),
        ("", "\\", ()),
    ],
)
def test_parts_of_a_pattern(pattern, escape, parts):
    assert like_parts(pattern, escape) == parts


def test_a_pattern_too_long_to_compile():
    found = comparison_of(compared("like", "_" * 5000))
    assert found is not None and not is_evaluable(found)


def test_slices_of_a_column_of_ranges():
    index = GapList(["c"], ["1"])
    values = pa.array([[1, 2, 9], [5], [], [50, 90]], pa.list_(pa.int32()))
    joined = pa.array([[False] * 3, [False], [], [False] * 2], pa.list_(pa.bool_()))
    found = index.finish(pa.table({"values": values, "joined": joined}))["ranges"]
    for part, wanted in ((found, "0101"), (found.slice(1), "101"), (found.slice(1, 2), "10")):
        metadata = Collected(len(part), {"gaplist:c:1": {"ranges": part}})
        read = files_read(compared("in", [5, 90], "int"), [index], metadata)
        assert "".join("01"[each] for each in read) == wanted
