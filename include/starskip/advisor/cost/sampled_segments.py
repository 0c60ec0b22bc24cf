"""Choose the segments of a table on whose rows queries are simulated.

They lie apart in time, and half of them where queries look: a dashboard of the last hours reads few segments
of a year. Each stands for the segments around it, which are fewer where more are chosen: sums over the sample
are sums over the table (Horvitz and Thompson, "A Generalization of Sampling Without Replacement from a Finite
Universe").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.pruned_segments import ColumnEnds, is_pruned
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
from starskip.sql.predicate import leaves
from starskip.sql.query_shape import parsed_shape
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.snapshot import Snapshot
from starskip.tables.value_ends import value_ends

_TIME_TYPES = {"INT": pa.int32(), "LONG": pa.int64(), "TIMESTAMP": pa.int64(), "STRING": pa.string()}
"""Types of columns that tell when rows were, and whose ends prune segments."""
_MOST_OVERLAP = 0.5
"""Mean share of the table's range that a segment spans: above, a column tells no order of segments."""
_LOOKED_AT_SEGMENTS = 2_000
_LOOKED_AT_QUERIES = 32
_FACTS = ["source_file", "source_identity", "segment", "column", "data_type", "min_value", "max_value"]
_EVEN_RATIO = 0.5
"""Share of the sample that is spread over all segments, wherever queries look."""


@dataclass(frozen=True, slots=True)
class SegmentEnds:
    """The ``least`` and ``greatest`` value of a column in each segment of a table, null where not known."""

    least: pa.Array
    greatest: pa.Array

    def of(self, segment: int) -> ColumnEnds | None:
        """Return the ends in one segment."""
        values = [self.least[segment].as_py(), self.greatest[segment].as_py()]
        return None if None in values else ColumnEnds(self.least.type, values)

    def ranks(self) -> npt.NDArray[np.float64] | None:
        """Return the ranks of both values, [2, segments]; None if they are not known of all segments."""
        if self.least.null_count or self.greatest.null_count:
            return None
        ranks = pc.rank(pa.concat_arrays([self.least, self.greatest]), tiebreaker="dense")
        found: npt.NDArray[np.float64] = ranks.to_numpy().astype(float).reshape(2, -1)
        return found


@dataclass(frozen=True, slots=True)
class KnownSegments:
    """The segments of a table, with the ends of columns that may tell when their rows were."""

    files: Sequence[SegmentFile]
    ends: Mapping[str, SegmentEnds] = field(default_factory=dict)


SegmentSource = Callable[[str], KnownSegments]
"""Returns the segments of a table, on whichever machine it is called."""


@dataclass(frozen=True, slots=True)
class SampledSegment:
    """A chosen segment, number ``position`` of ``segments``; ``weight``: how many segments it stands for.

    ``wanted``: how many were to be chosen, which other queries do not change.
    """

    file: SegmentFile
    position: int
    segments: int
    wanted: int
    weight: float = 1.0


def listed_segments(root: str | Path, table: str) -> KnownSegments:
    """Return the segments in the table's folder, in the order of their names."""
    return KnownSegments(list_segments(root, [table]))


def published_files(facts: Snapshot, table: str) -> list[SegmentFile]:
    """Return the segment files of a table in ``table_facts``; the deep store is not listed again."""
    return _files_of(table, _columns_of(facts, table, _FACTS[:3]))


def _columns_of(facts: Snapshot, table: str, names: Sequence[str]) -> pa.Table:
    """Return facts of a table, each text of a column kept once: a segment's stand in a row a column."""
    schema = pa.schema([(name, pa.dictionary(pa.int32(), pa.string())) for name in names])
    batches = [
        pa.RecordBatch.from_arrays([column.dictionary_encode() for column in batch.columns], schema=schema)
        for batch in facts.batches([table], names)
    ]
    return pa.Table.from_batches(batches, schema).combine_chunks()


def _files_of(table: str, rows: pa.Table) -> list[SegmentFile]:
    paths = rows["source_file"].combine_chunks()
    _, firsts = np.unique(paths.indices.to_numpy(), return_index=True)
    whole = rows.select(_FACTS[:3]).take(firsts)
    found = []
    for path, identity, segment in sorted(zip(*(each.to_pylist() for each in whole.columns), strict=True)):
        of_file = FileIdentity.from_text(identity)
        stamp = (of_file.modified_ns, of_file.etag)
        found.append(SegmentFile(table, segment, path, of_file.size_bytes, *stamp))
    return found


def published_segments(facts: Snapshot, table: str) -> KnownSegments:
    """Return the segments of a table in ``table_facts``, with the ends of their times."""
    rows = _columns_of(facts, table, _FACTS)
    files = _files_of(table, rows)
    is_time = pc.is_in(rows["data_type"], value_set=pa.array(list(_TIME_TYPES)))
    known = pc.and_(is_time, pc.and_(pc.is_valid(rows["min_value"]), pc.is_valid(rows["max_value"])))
    kept = rows.filter(known).combine_chunks()
    places = pc.index_in(kept["source_file"], value_set=pa.array([file.path for file in files]))
    kept = kept.append_column("place", places)
    ends = {}
    for column in pc.unique(kept["column"]).to_pylist():
        of_column = kept.filter(pc.equal(kept["column"], column))
        kinds = pc.unique(of_column["data_type"]).to_pylist()
        if len(kinds) == 1:
            ends[column] = _segment_ends(of_column, _TIME_TYPES[kinds[0]], len(files))
    return KnownSegments(files, ends)


def _segment_ends(rows: pa.Table, kind: pa.DataType, segments: int) -> SegmentEnds:
    """Return the ends of one column from its facts."""
    row_of = np.full(segments, -1)
    row_of[rows["place"].to_numpy()] = np.arange(len(rows))
    taken = pa.array(row_of, mask=row_of < 0)
    both = []
    for name in ("min_value", "max_value"):
        texts = rows[name].combine_chunks().cast(pa.string())
        try:
            values = texts.cast(kind)
        except pa.ArrowException:
            # A few that cannot be read are not known; the others are.
            values = pa.array([_value(text, kind) for text in texts.to_pylist()], kind)
        both.append(values.take(taken))
    return SegmentEnds(*both)


def _value(text: str, kind: pa.DataType) -> Any:
    ends = value_ends(text, text, kind)
    return None if ends is None else ends[0].as_py()


def sample_segments(known: KnownSegments, shapes: Sequence[ShapeWorkload], most: int) -> list[SampledSegment]:
    """Return at most ``most`` segments, the same ones at every run, and mostly the same ones tomorrow.

    Segments are cut into strata in the order of time, and one is chosen of each by a hash of its name: a few
    new segments move the cuts a little, and leave most of the chosen ones.
    """
    count = len(known.files)
    if count <= most:
        return [SampledSegment(file, place, count, count) for place, file in enumerate(known.files)]
    order = _in_order_of_time(known)
    density = np.full(count, 1.0 / count)
    looked_at = _looked_at(known, order, shapes)
    if looked_at is not None:
        density = _EVEN_RATIO * density + (1 - _EVEN_RATIO) * looked_at
    strata = np.minimum((np.cumsum(density) - density / 2) * most, most - 1).astype(np.int64)
    hashes = np.array([name_hash(known.files[at]) for at in order])
    in_strata = np.lexsort([hashes, strata])
    firsts = np.flatnonzero(np.diff(strata[in_strata], prepend=-1))
    sizes = np.diff(np.append(firsts, count))
    return [
        SampledSegment(known.files[order[in_strata[first]]], place, len(firsts), most, float(size))
        for place, (first, size) in enumerate(zip(firsts, sizes, strict=True))
    ]


def name_hash(file: SegmentFile) -> int:
    """Return a number below 2**32 that is the same wherever the deep store lies."""
    return crc32(file.path.rpartition("/")[2].encode("utf-8", "surrogateescape"))


def _in_order_of_time(known: KnownSegments) -> list[int]:
    """Return the places of the segments by the column whose values tell them apart best, else by name."""
    best, least_overlap = None, _MOST_OVERLAP
    for _, ends in sorted(known.ends.items()):
        ranks = ends.ranks()
        if ranks is not None and (overlap := _overlap(ranks)) < least_overlap:
            best, least_overlap = ranks, overlap
    if best is None:
        return list(range(len(known.files)))
    order: list[int] = np.lexsort((best[1], best[0])).tolist()
    return order


def _overlap(ranks: npt.NDArray[np.float64]) -> float:
    """Return the mean share of the values' range that a segment spans; 1 if all have the same values."""
    spread = ranks.max() - ranks.min()
    return float((ranks[1] - ranks[0]).mean() / spread) if spread else 1.0


def _looked_at(
    known: KnownSegments, order: Sequence[int], shapes: Iterable[ShapeWorkload]
) -> npt.NDArray[np.float64] | None:
    """Return the share of the queries' work that each segment, in ``order``, gets; None if that is not known.

    Of many segments some are looked at, and those between them count as the one before.
    """
    queries = [
        (parsed_shape(shape.skeleton).filter, literals, float(instance.entries_scanned_in_filter))
        for shape in shapes
        for literals, instance in shape.instances.items()
    ]
    queries = sorted(queries, key=lambda query: -query[2])[:_LOOKED_AT_QUERIES]
    asked = {leaf.column for predicate, _, _ in queries for leaf in leaves(predicate)}
    asked_ends = {name: ends for name, ends in known.ends.items() if name in asked}
    step = -(-len(order) // _LOOKED_AT_SEGMENTS)
    found = np.zeros(len(order))
    for start in range(0, len(order), step):
        ends = {name: each for name, of in asked_ends.items() if (each := of.of(order[start])) is not None}
        work = sum(
            entries + 1
            for predicate, literals, entries in queries
            if not is_pruned(predicate, literals, ends)
        )
        found[start : start + step] = work
    total = found.sum()
    return found / total if total else None
