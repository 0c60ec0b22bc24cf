"""Files of documents: what is written is read, a range of codes alone too; bins of codes leave none out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flipped_footers import flipped_footers
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import CapExceeded, StorageError
from starskip.star_tree.build import dimension_values, document_files
from starskip.star_tree.build.document_files import (
    DocumentSchema,
    StoredDocuments,
    code_bins,
    read_documents,
    write_documents,
    write_sorted,
)
from starskip.star_tree.documents import Documents, aggregated, sorted_runs
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind
from starskip.star_tree.measures.initial_measure import initial_measure
from starskip.star_tree.serving.document_reader import DocumentReader
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import DataFile

SUM = Measure.of(MeasureKind.SUM, "m")
SCHEMA = DocumentSchema(("a", "b"), (SUM, COUNT_ROWS), {"a": pa.int64(), "b": pa.int64(), "m": pa.int64()})


def documents(codes: list[tuple[int, int]]) -> Documents:
    columns = [np.array([code[position] for code in codes], np.int32) for position in (0, 1)]
    values = pa.array(range(len(codes)), pa.int64())
    measures = {item: initial_measure(item, values, len(codes)) for item in (SUM, COUNT_ROWS)}
    return aggregated(Documents(tuple(columns), measures), (50, 50))


def rows(of: Documents) -> list[tuple[int, ...]]:
    measures = [of.measures[item].results().to_pylist() for item in (SUM, COUNT_ROWS)]
    return list(zip(*(codes.tolist() for codes in of.codes), *measures, strict=True))


@given(
    codes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60),
    group=st.sampled_from([1, 4, 1000]),
    low=st.integers(-1, 10),
    width=st.integers(0, 10),
)
def test_a_range_of_codes_is_read_as_if_all_were(
    trees: Any, codes: list[tuple[int, int]], group: int, low: int, width: int
) -> None:
    aside = ArtefactStore(trees.MemoryStorage()).staged_write(ARTEFACT, CURRENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_files, "DOCUMENTS_PER_ROW_GROUP", group)
        whole = documents(codes)
        file = write_documents(aside, "t", "x.parquet", SCHEMA, whole)
        same_first = documents([(3, b) for _, b in codes])
        below = write_documents(aside, "t", "x.parquet", SCHEMA, same_first)
    assert rows(read_documents(aside.storage, SCHEMA, file)) == rows(whole)
    wanted = (low, low + width)
    found = rows(read_documents(aside.storage, SCHEMA, file, depth=0, codes=wanted))
    assert found == [row for row in rows(whole) if wanted[0] <= row[0] <= wanted[1]]
    found = rows(read_documents(aside.storage, SCHEMA, below, depth=1, codes=wanted))
    assert found == [row for row in rows(same_first) if wanted[0] <= row[1] <= wanted[1]]


@given(
    files=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=300), min_size=1, max_size=4),
    rows_per_bin=st.integers(1, 200),
)
def test_bins_of_codes_leave_none_out_and_none_is_empty(
    trees: Any, files: list[list[int]], rows_per_bin: int
) -> None:
    aside = ArtefactStore(trees.MemoryStorage()).staged_write(ARTEFACT, CURRENT)
    # Documents of one b each, so that a code has as many documents as it was drawn.
    stored = [
        write_sorted(aside, "t", SCHEMA, documents([(code, n) for n, code in enumerate(file)]), 0)
        for file in files
    ]
    bins = code_bins(stored, rows_per_bin)
    everything = [code for file in files for code in file]
    assert (bins[0][0], bins[-1][1]) == (min(everything), max(everything))
    for (low, high), (next_low, _) in zip(bins, [*bins[1:], (bins[-1][1] + 1, 0)], strict=True):
        assert low <= high and next_low == high + 1
        assert any(low <= code <= high for code in everything)
    largest = max(map(everything.count, set(everything)))
    for low, high in bins:
        held = sum(low <= code <= high for code in everything)
        # Samples tell where rows lie to a 64th of each file.
        assert held <= max(rows_per_bin, largest) + largest + len(everything) / 32 + 2 * len(files)


def test_a_code_that_fills_a_bin_alone_has_it_alone() -> None:
    skewed = StoredDocuments(DataFile("x", 0, None), 100, 0, (1, 2, *[5] * 60, 7, 9))
    assert (5, 5) in code_bins([skewed], 50)


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 5), max_size=40),
    st.lists(st.sampled_from([4, 2**20, 2**31, 2**40]), min_size=5, max_size=5),
)
def test_rows_are_sorted_by_all_keys_however_many_bits_they_take(
    keys: list[tuple[int, ...]], sizes: list[int]
) -> None:
    scaled = [tuple(key * (size // 4) for key, size in zip(row, sizes, strict=True)) for row in keys]
    columns = [np.array([row[n] for row in scaled], np.int64) for n in range(5)]
    order, starts = sorted_runs(columns, sizes)
    found = [scaled[n] for n in (range(len(scaled)) if order is None else order.tolist())]
    assert found == sorted(scaled)
    assert [found[n] for n in starts.tolist()] == sorted(set(scaled))


def test_a_dimension_with_too_many_values_is_named(trees: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension_values, "MAX_DIMENSION_VALUES", 10)
    for values in (list(range(11)) * 2, [*range(6), *range(100, 105)]):
        with pytest.raises(CapExceeded, match="column k has more than 10 distinct values: leave it out"):
            trees.build_of({"k": values}, trees.config("k", "COUNT__*"), files=2)


def test_each_changed_bit_of_a_footer_is_told(trees: Any) -> None:
    aside = ArtefactStore(trees.MemoryStorage()).staged_write(ARTEFACT, CURRENT)
    whole = documents([(a, b) for a in range(9) for b in range(9)])
    file = write_documents(aside, "t", "x.parquet", SCHEMA, whole)
    for flipped in flipped_footers(aside.storage.objects[file.name]):
        aside.storage.objects[file.name] = flipped
        reader = DocumentReader(aside.storage, SCHEMA, [(file, 81)])
        for read in (
            partial(read_documents, aside.storage, SCHEMA, file),
            partial(read_documents, aside.storage, SCHEMA, file, codes=(2, 3)),
            partial(reader.codes, np.arange(81), "a"),
        ):
            with pytest.raises(StorageError) as raised:
                read()
            assert str(raised.value) == f"{file.name}: is gone or damaged; build the tree again"
