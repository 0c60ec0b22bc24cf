"""Columns of metadata that 32-bit offsets do not reach: joined, compared, and written again.

The reach is lowered, but for one test with texts of more than 2 GiB.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from skipping_law.files_metadata import Collected, files_read
from skipping_law.written import compared, negated
from starskip.file_metadata import wide_columns
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.wide_columns import concatenated, narrow
from starskip.skipping.registry import index_from_specification

pytestmark = pytest.mark.slow

LISTS = pa.list_(pa.string())
RANGES = pa.list_(pa.struct([("least", pa.string()), ("greatest", pa.string())]))
COLUMNS = {
    "text": (pa.string(), [["ab", None], ["c" * 40], ["d"]]),
    "bytes": (pa.binary(), [[b"ab"], [b"\xff" * 40, None], [b""]]),
    "lists": (LISTS, [[["ab", "x"], None], [[], ["c" * 40]], [["d"]]]),
    "ranges": (RANGES, [[[("a", "b")]], [None, [("c" * 40, "d")]], [[]]]),
    "numbers": (pa.list_(pa.int64()), [[[1, 2]], [None], [[3]]]),
}


@pytest.fixture
def short_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide_columns, "MOST_BYTES", 30)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_the_same_with_wide_offsets(name: str, short_reach: None) -> None:
    kind, values = COLUMNS[name]
    chunks = [pa.array(each, kind) for each in values]
    whole = concatenated(chunks)
    assert whole.to_pylist() == pa.concat_arrays(chunks).to_pylist()
    assert whole.type != kind and wide_columns.wide(whole.type) == whole.type
    # A segment's column may be wide already where another one's is not.
    assert concatenated([whole, chunks[0]]).to_pylist() == [*whole.to_pylist(), *chunks[0].to_pylist()]
    again = narrow(whole, kind)
    assert again.type == kind and again.num_chunks > 1 and again.to_pylist() == whole.to_pylist()


@pytest.mark.parametrize(
    ("specification", "columns", "wanted"),
    [
        ("minmax:c", {"min": ["a", "c", None], "max": ["b", "d", None], "values": [2, 2, 0]}, "10"),
        ("valuelist:c", {"values": [["a", "b"], ["c", "d"], []]}, "10"),
        ("hybrid:c", {"values": [["a", "b"], ["c", "d"], []], "filter": [None, None, None]}, "10"),
        (
            "gaplist:c",
            {"ranges": [[{"least": "a", "greatest": "b"}], [{"least": "c", "greatest": "d"}], []]},
            "10",
        ),
        ("prefix:c:1", {"affixes": [["a", "b"], ["c", "d"], []]}, "10"),
    ],
)
@pytest.mark.parametrize(
    "predicate",
    [
        compared("=", "b"),
        compared("in", ["b", "a"]),
        compared("<", "b"),
        compared("starts with", "b"),
        negated(compared(">=", "b")),
    ],
)
def test_wide_columns_are_compared_as_others_are(specification, columns, wanted, predicate):
    index = index_from_specification(specification)
    plain = {name: pa.array(values) for name, values in columns.items()}
    if "filter" in plain:
        plain["filter"] = plain["filter"].cast(pa.large_binary())
    broad = {name: array.cast(wide_columns.wide(array.type)) for name, array in plain.items()}
    read = [files_read(predicate, [index], Collected(3, {specification: each})) for each in (plain, broad)]
    assert read[0] == read[1]
    assert "".join("01"[each] for each in read[0])[:2] == wanted


def test_texts_of_more_than_two_gigabytes():
    # All texts lie in one buffer, each a byte further: 2.7 GB in all.
    length = 300 << 20
    buffer = pa.py_buffer(b"x" * (length - 1) + b"01234567")
    chunks = [
        pa.StringArray.from_buffers(1, pa.py_buffer(np.array([at, at + length], np.int32)), buffer)
        for at in range(8)
    ]
    whole = joined(pa.table({"c": pa.chunked_array(chunks)}), "c")
    assert whole.nbytes > 1 << 31
    ends = pa.compute.utf8_slice_codeunits(whole, -1).to_pylist()
    assert ends == [str(at) for at in range(8)]
