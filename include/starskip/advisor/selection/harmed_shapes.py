"""Shapes that read more with the chosen indexes, and the option by which their queries do without.

An AND with an index is evaluated for a whole segment before a LIMIT can end it, so an index may harm a query
that a scan would soon have ended. ``SET skipIndexes`` (Pinot 1.2) leaves an index out for one query alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.advisor.families.index import Index
from starskip.advisor.selection.vote_list import IndexSet, VoteList, total_saving
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.column_indexes.fst import FST_NAME
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.pinot.column_indexes.range import RANGE_NAME
from starskip.pinot.target_version import release_number

_SKIPPED_AS = {INVERTED_NAME: INVERTED_NAME, RANGE_NAME: RANGE_NAME, FST_NAME: INVERTED_NAME}
"""By family, the index that Pinot is told to leave out: a pattern is answered through the inverted index."""
_LEAST_RATIO = 0.005
_SINCE = (1, 2)


@dataclass(frozen=True, slots=True)
class HarmedShape:
    """A shape that reads ``more_ratio`` more entries in filter with the chosen indexes.

    ``option``: the statement before a query that spares it, empty if Pinot has none in this version.
    ``text``: its filter for people, without literals.
    """

    shape_id: str
    text: str
    more_ratio: float
    option: str

    def to_document(self) -> dict[str, Any]:
        """Return the shape as artefacts have it."""
        return {
            "shape_id": self.shape_id,
            "filter": self.text,
            "more_ratio": self.more_ratio,
            "option": self.option,
        }


def harmed_shapes(
    lists: Sequence[VoteList],
    chosen: Collection[Index],
    window: Mapping[str, ShapeEntries],
    shapes: Sequence[ShapeWorkload],
    pinot_version: str,
) -> tuple[HarmedShape, ...]:
    """Return the harmed ones of ``shapes``, the one that loses most entries first.

    ``lists``: the votes of shapes that no answer serves.
    """
    texts = {shape.shape_id: shape.text for shape in shapes}
    by_shape: dict[str, list[VoteList]] = {}
    for votes in lists:
        by_shape.setdefault(votes.shape_id, []).append(votes)
    found: list[tuple[float, HarmedShape]] = []
    for shape_id, of_shape in by_shape.items():
        used = frozenset(chosen) & frozenset().union(*(votes.indexes for votes in of_shape))
        saved, entries = total_saving(of_shape, used), window[shape_id].entries if shape_id in window else 0.0
        if shape_id in texts and entries > 0 and saved < -_LEAST_RATIO * entries:
            option = _option(_harming(of_shape, used), pinot_version)
            found.append((saved, HarmedShape(shape_id, texts[shape_id], -saved / entries, option)))
    return tuple(shape for _, shape in sorted(found, key=lambda each: (each[0], each[1].shape_id)))


def _harming(lists: Sequence[VoteList], used: IndexSet) -> list[Index]:
    """Return the fewest indexes, each the worst of those left, without which the shape saves most."""
    left, gone = used, list[Index]()
    while left:
        best = max(sorted(left), key=lambda index: total_saving(lists, left - {index}))
        if total_saving(lists, left - {best}) <= total_saving(lists, left):
            break
        left -= {best}
        gone.append(best)
    return gone


def _option(indexes: Sequence[Index], pinot_version: str) -> str:
    if not indexes or release_number(pinot_version) < _SINCE:
        return ""
    skipped: dict[str, set[str]] = {}
    for index in indexes:
        if index.family not in _SKIPPED_AS:
            return ""
        skipped.setdefault(index.column, set()).add(_SKIPPED_AS[index.family])
    columns = (f"{column}={','.join(sorted(kinds))}" for column, kinds in sorted(skipped.items()))
    return f"SET skipIndexes='{'&'.join(columns)}';"
