"""Weigh reading a list near a window of rows against testing the window's rows themselves.

A limit may be reached before a list that is spread over all files pays off, and the number of windows until
then is not known. So rows are tested until that has taken as long as the list would, and then the list is
read: together at most twice the cheaper of both, as in the ski rental problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyroaring import BitMap64

from starskip.secondary.access_paths import Path
from starskip.secondary.intersection import PostingInput


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a segment that belong to ``paths``; whether they belong to other paths is not known."""

    segment: str
    rows: BitMap64
    paths: tuple[Path, ...]


@dataclass
class WeighedLists:
    """``piece_ms``: the time to read a piece of a list; ``fetch_ms``: to fetch a window and to filter it."""

    piece_ms: Callable[[Path], float]
    fetch_ms: Callable[[Window], float]
    _spent_ms: dict[int, float] = field(default_factory=dict)
    _piece_ms: dict[int, float] = field(default_factory=dict)

    def is_worth(self, path: Path, met: PostingInput, window: Window) -> bool:
        """Return whether to read the pieces of a list that lie near a window."""
        near = met.unread_near(window.rows)
        if not near:
            return True
        if id(path) not in self._piece_ms:
            self._piece_ms[id(path)] = self.piece_ms(path)
        spent_ms = self._spent_ms.get(id(path), 0.0) + self.fetch_ms(window)
        if near * self._piece_ms[id(path)] <= spent_ms:
            return True
        self._spent_ms[id(path)] = spent_ms
        return False
