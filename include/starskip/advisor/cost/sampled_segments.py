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
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.pruned_segments import ColumnEnds, is_pruned
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
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
class KnownSegments:
    """The segments of a table; ``ends``: the least and greatest value of columns, None where not known."""

    files: Sequence[SegmentFile]
    ends: Mapping[str, Sequence[ColumnEnds | None]] = field(default_factory=dict)


SegmentSource = Callable[[str], KnownSegments]
"""Returns the segments of a table, on whichever machine it is called."""


@dataclass(frozen=True, slots=True)
class SampledSegment:
    """A chosen segment, number ``position`` of ``segments``; ``weight``: how many segments it stands for."""

    file: SegmentFile
    position: int
    segments: int
    weight: float = 1.0


def listed_segments(root: str | Path, table: str) -> KnownSegments:
    """Return the segments in the table's folder, in the order of their names."""
    return KnownSegments(list_segments(root, [table]))


def published_files(facts: Snapshot, table: str) -> list[SegmentFile]:
    """Return the segment files of a table in ``table_facts``; the deep store is not listed again."""
    return _files_of(table, facts.read_table([table], _FACTS[:3]))


def _files_of(table: str, rows: pa.Table) -> list[SegmentFile]:
    whole = rows.group_by(_FACTS[:3]).aggregate([]).sort_by("source_file")
    found = []
    for path, identity, segment in zip(*(whole[name].to_pylist() for name in _FACTS[:3]), strict=True):
        of_file = FileIdentity.from_text(identity)
        stamp = (of_file.modified_ns, of_file.etag)
        found.append(SegmentFile(table, segment, path, of_file.size_bytes, *stamp))
    return found


def published_segments(facts: Snapshot, table: str) -> KnownSegments:
    """Return the segments of a table in ``table_facts``, with the ends of their times."""
    rows = facts.read_table([table], _FACTS)
    files = _files_of(table, rows)
    place = {file.path: number for number, file in enumerate(files)}
    found: dict[str, list[ColumnEnds | None]] = {}
    kept = rows.filter(pc.is_in(rows["data_type"], value_set=pa.array(list(_TIME_TYPES))))
    columns = (kept[name].to_pylist() for name in _FACTS)
    for path, _, _, column, kind, least, most in zip(*columns, strict=True):
        ends = value_ends(least, most, _TIME_TYPES[kind])
        if ends is not None:
            of_column = found.setdefault(column, [None] * len(files))
            of_column[place[path]] = ColumnEnds(ends.type, ends.to_pylist())
    return KnownSegments(files, found)


def sample_segments(known: KnownSegments, shapes: Sequence[ShapeWorkload], most: int) -> list[SampledSegment]:
    """Return at most ``most`` segments, the same ones at every run, and mostly the same ones tomorrow.

    Segments are cut into strata in the order of time, and one is chosen of each by a hash of its name: a few
    new segments move the cuts a little, and leave most of the chosen ones.
    """
    count = len(known.files)
    if count <= most:
        return [SampledSegment(file, place, count) for place, file in enumerate(known.files)]
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
        SampledSegment(known.files[order[in_strata[first]]], place, len(firsts), float(size))
        for place, (first, size) in enumerate(zip(firsts, sizes, strict=True))
    ]


def name_hash(file: SegmentFile) -> int:
    """Return a number below 2**32 that is the same wherever the deep store lies."""
    return crc32(file.path.rpartition("/")[2].encode("utf-8", "surrogateescape"))


def _in_order_of_time(known: KnownSegments) -> list[int]:
    """Return the places of the segments by the column whose values tell them apart best, else by name."""
    best, least_overlap = None, _MOST_OVERLAP
    for _, ends in sorted(known.ends.items()):
        overlap = _overlap(ends)
        if overlap < least_overlap:
            best, least_overlap = ends, overlap
    places = range(len(known.files))
    if best is None:
        return list(places)
    values = [tuple(each.values) for each in best if each]
    return sorted(places, key=lambda at: values[at])


def _overlap(ends: Sequence[ColumnEnds | None]) -> float:
    """Return the mean share of the values' range that a segment spans; 1 if it cannot be told."""
    if any(each is None for each in ends) or len({each.kind for each in ends if each}) != 1:
        return 1.0
    values = pa.array([value for each in ends if each for value in each.values])
    ranks = pc.rank(values, tiebreaker="dense").to_numpy().reshape(-1, 2).astype(float)
    spread = ranks.max() - ranks.min()
    return float((ranks[:, 1] - ranks[:, 0]).mean() / spread) if spread else 1.0


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
    queries.sort(key=lambda query: -query[2])
    step = -(-len(order) // _LOOKED_AT_SEGMENTS)
    found = np.zeros(len(order))
    for start in range(0, len(order), step):
        ends = {name: each for name, of in known.ends.items() if (each := of[order[start]]) is not None}
        work = sum(
            entries + 1
            for predicate, literals, entries in queries[:_LOOKED_AT_QUERIES]
            if not is_pruned(predicate, literals, ends)
        )
        found[start : start + step] = work
    total = found.sum()
    return found / total if total else None
