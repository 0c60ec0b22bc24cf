"""The law: a file with a row that satisfies the predicate is never skipped, whatever the index."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import Files, collected, files_matching, files_read, takes
from skipping_law.predicates import TYPES, comparisons, files_of, trees
from starskip.skipping.registry import index_from_specification

SPECIFICATIONS = [
    "minmax:c",
    "nulls:c",
    "valuelist:c",
    "bloom:c",
    "hybrid:c:2",
    "prefix:c:1",
    "prefix:c:2",
    "suffix:c:1",
    "gaplist:c:1",
    "ngrams:c",
    "partition:c",
]
CASES = 12


@pytest.mark.parametrize(
    ("specification", "data_type"),
    [(each, data_type) for each in SPECIFICATIONS for data_type in TYPES if takes(each, data_type)],
)
def test_no_file_with_a_matching_row_is_skipped(specification: str, data_type: str) -> None:
    arrow_type, values = TYPES[data_type]
    index = index_from_specification(specification)
    predicates = st.lists(trees(comparisons(data_type)), min_size=1, max_size=8)

    @settings(max_examples=CASES, deadline=None)
    @given(files_of(values), predicates)
    def law(rows, predicates):
        files = Files.of(arrow_type, *rows)
        metadata = collected([index], files)
        for predicate in predicates:
            read = files_read(predicate, [index], metadata)
            matching = files_matching(predicate, files, {})
            assert all(r or not m for r, m in zip(read, matching, strict=True)), (predicate, rows)

    law()
