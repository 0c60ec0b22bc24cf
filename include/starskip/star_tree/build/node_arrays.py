"""The nodes of a part of a tree as columns, growing and stored (Star-tree index, "Node properties")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NO_PARENT = -1
"""The parent of a part's roots, and the value of a tree's root."""


@dataclass(slots=True)
class NodeArrays:
    """One entry a node; parents stand before their children.

    ``depth``: the number of dimensions in its prefix; ``code``: the value of the last one. ``start`` and
    ``end`` bound its documents, ``aggregated`` is the document that aggregates them; all are positions in
    ``…chunk`` until ``placed`` makes them positions among the part's documents.
    """

    depth: npt.NDArray[np.int16]
    code: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int64]
    chunk: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    aggregated_chunk: npt.NDArray[np.int32]
    aggregated: npt.NDArray[np.int64]
    room: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)
    """Longer arrays behind the others: nodes are added in thousands of small steps."""

    @classmethod
    def empty(cls) -> Self:
        """Return no nodes."""
        columns: dict[str, Any] = {name: np.zeros(0, dtype) for name, dtype in _DTYPES.items()}
        return cls(**columns)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.code)

    def add(
        self,
        depth: int,
        codes: npt.NDArray[Any],
        parents: npt.NDArray[np.int64],
        chunk: int,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
    ) -> int:
        """Append nodes of one depth and return the number of the first."""
        first, end = len(self), len(self) + len(codes)
        added = {
            "depth": depth,
            "code": codes,
            "parent": parents,
            "chunk": chunk,
            "start": starts,
            "end": ends,
            "aggregated_chunk": -1,
            "aggregated": -1,
        }
        for name, values in added.items():
            held = self.room.get(name)
            if held is None or len(held) < end:
                held = np.empty(max(2 * end, _ROOM), _DTYPES[name])
                held[:first] = getattr(self, name)
                self.room[name] = held
            held[first:end] = values
            setattr(self, name, held[:end])
        return first

    def placed(self, ranks: Sequence[npt.NDArray[np.int64]]) -> NodeArrays:
        """Return the nodes with positions among all documents; ``ranks`` has these positions for each chunk.

        A split node takes the aggregated document of its star child, or of its only child.
        """
        firsts = np.cumsum([0, *(len(rank) for rank in ranks)])
        rank = np.concatenate(ranks)
        start = rank[firsts[self.chunk] + self.start]
        end = rank[firsts[self.chunk] + self.end - 1] + 1
        known = self.aggregated >= 0
        aggregated = np.where(known, rank[firsts[self.aggregated_chunk] + self.aggregated], -1)
        for depth in range(int(self.depth.max()), 0, -1):
            # The star child, if there is one, is the last child, since its code is the greatest.
            children = np.flatnonzero(self.depth == depth)
            children = children[self.parent[children] >= 0]
            children = children[~known[self.parent[children]]]
            order = children[np.argsort(self.code[children], kind="stable")]
            aggregated[self.parent[order]] = aggregated[order]
        return NodeArrays(
            self.depth, self.code, self.parent, self.chunk, start, end, self.aggregated_chunk, aggregated
        )

    def to_arrow(self) -> pa.Table:
        """Return placed nodes in their stored form."""
        return pa.table({name: pa.array(getattr(self, name)) for name in STORED})


_DTYPES: dict[str, Any] = {
    "depth": np.int16,
    "code": np.int32,
    "parent": np.int64,
    "chunk": np.int32,
    "start": np.int64,
    "end": np.int64,
    "aggregated_chunk": np.int32,
    "aggregated": np.int64,
}
_ROOM = 1024
STORED = ("depth", "code", "parent", "start", "end", "aggregated")
