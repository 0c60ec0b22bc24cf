"""Index type ``ngrams:c``: the runs of three bytes in a file's texts, as a Bloom filter, for ``LIKE '%x%'``.

A text that contains another one contains all runs of its bytes. There are 2^24 runs, so that the state of a
file is two megabytes at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.expression import Expression
from starskip.predicates.like_pattern import like_parts
from starskip.skipping.bloom_filters import bloom_filter, may_hold
from starskip.skipping.clause import Clause
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.column_index import ColumnIndex

_RUNS = 1 << 24
_RATIO = 0.01
MOST_RUNS = 64
"""Runs of a searched text that are looked up; more would hardly skip another file."""
MOST_TEXTS = 100
_SUBSTRING = frozenset(
    {ComparisonOperator.STARTS_WITH, ComparisonOperator.ENDS_WITH, ComparisonOperator.CONTAINS}
)


class Ngrams(ColumnIndex):
    """Metadata column ``filter``: bytes, empty for a file without such runs, null if unknown."""

    kind = "ngrams"
    families = frozenset({"string"})

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"texts": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - texts are of one type
        """See SkippingIndex.collector."""
        return _RunsCollector()

    def label(self, node: Expression) -> Clause | None:
        """Label LIKE, tests of prefix, suffix and substring, equality and IN, of at least three bytes."""
        found = self.comparison(node)
        texts = None if found is None or found.negated else _searched(found)
        if not texts or len(texts) > MOST_TEXTS:
            return None
        runs = [np.unique(np.concatenate([_runs_of(each) for each in parts]))[:MOST_RUNS] for parts in texts]
        return (
            NgramsClause(self.specification, tuple(tuple(each.tolist()) for each in runs))
            if all(map(len, runs))
            else None
        )


def _searched(found: Comparison) -> list[list[bytes]] | None:
    """Return alternative texts, each as parts that must all occur, None if unknown."""
    if found.operator is ComparisonOperator.LIKE:
        parts = like_parts(found.text, found.escape)
        return None if parts is None else [[b"", *(each.encode() for each in parts if isinstance(each, str))]]
    if found.operator in _SUBSTRING or (
        found.operator is ComparisonOperator.IN and pa.types.is_string(found.values.type)
    ):
        return [[each.encode()] for each in found.values.to_pylist()]
    return None


@dataclass(frozen=True, slots=True)
class NgramsClause(Clause):
    """Passes files which may have all runs of one of the searched texts."""

    index: str
    texts: tuple[tuple[int, ...], ...]

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        filters = metadata.column(self.index, "filter")
        found = np.zeros(len(filters), np.bool_)
        for runs in self.texts:
            has_all = np.ones(len(filters), np.bool_)
            for run in runs:
                has_all &= may_hold(filters, np.array([run], np.uint64), _RATIO)
            found |= has_all
        return found


class _RunsCollector(FileCollector):
    """Has a bit for each run; a text that is not valid UTF-8 makes the file unknown."""

    def __init__(self) -> None:
        self._seen = np.zeros(0, np.bool_)
        self._is_valid = True

    @property
    def size_bytes(self) -> int:
        return 0

    def add(self, rows: pa.RecordBatch) -> None:
        texts = rows.column("texts").drop_null().unique()
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            self._is_valid = False
            return
        if not len(self._seen):
            self._seen = np.zeros(_RUNS, np.bool_)
        self._seen[_runs(texts.cast(pa.large_binary()))] = True

    def parts(self) -> Iterator[pa.RecordBatch]:
        runs = np.flatnonzero(self._seen).astype(np.int32)
        offsets = pa.array([0, len(runs)], pa.int32())
        mask = pa.array([not self._is_valid])
        yield pa.record_batch({"runs": pa.ListArray.from_arrays(offsets, pa.array(runs), mask=mask)})

    def merge(self, part: pa.RecordBatch) -> None:
        if part.column("runs").null_count:
            self._is_valid = False
            return
        if not len(self._seen):
            self._seen = np.zeros(_RUNS, np.bool_)
        self._seen[part.column("runs").flatten().to_numpy()] = True

    def result(self) -> Mapping[str, pa.Array]:
        if not self._is_valid:
            return {"filter": pa.nulls(1, pa.large_binary())}
        runs = np.flatnonzero(self._seen).astype(np.uint64)
        return {"filter": bloom_filter([runs], len(runs), _RATIO)}


def _runs(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Return the runs of three bytes within texts without null, as numbers of 24 bits."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].astype(np.int64)
    if len(data) < 3:
        return np.zeros(0, np.int64)
    runs = data[:-2] << 16 | data[1:-1] << 8 | data[2:]
    inside = np.ones(len(runs), np.bool_)
    ends = offsets[1:] - offsets[0]
    for before in (1, 2):
        at = ends - before
        inside[at[(at >= 0) & (at < len(runs))]] = False
    return np.asarray(runs[inside])


def _runs_of(text: bytes) -> npt.NDArray[np.int64]:
    return _runs(pa.array([text], pa.large_binary()))
