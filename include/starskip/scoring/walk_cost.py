"""Entries that an AND reads when a child of it is an OR or a NOT of scans, by walking the rows.

Such children remember where they stand, so that siblings depend on one another in ways that the
chain of leapfrog_cost does not follow: ``NOT a = 1 AND b = 2`` was measured at 2.6 times the rows,
``a <> 1 AND b = 2`` at 1.6 times. The walk repeats what Pinot 0.11's iterators do: a scan that is
asked for the *next* match reads batches of 256 rows, one that is *advanced* to a row reads row by
row and forgets its batch; an OR advances only legs that lie behind; a NOT advances its child only
past the match that it knows of, and asks for the next match when it stands on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]

MAX_WALKED_ROWS = 4096
"""Steps cost Python time; this many consecutive rows of a segment tell its density and its clusters."""

_BATCH_ROWS = 256


class Walk(Protocol):
    """An iterator over matching rows that counts what it reads; ``rows`` is returned past the last match."""

    @property
    def entries(self) -> float:
        """Entries read so far."""

    def next(self) -> int:
        """Return the match behind the one returned last."""

    def advance(self, row: int) -> int:
        """Return the first match at or after ``row``."""


def walk_cost(walk: Walk, rows: int) -> float:
    """Return entries read a row to walk all matches of ``walk`` over ``rows`` rows."""
    while walk.next() < rows:
        pass
    return walk.entries / rows


class ScanWalk:
    """A scan of one column that reads ``entries_per_row`` entries a row; 0 makes it a bitmap."""

    def __init__(self, mask: Mask, entries_per_row: float) -> None:
        self.entries = 0.0
        self._rows = len(mask)
        self._entries_per_row = entries_per_row
        self._next_match = _next_matches(mask)
        self._read_until = 0
        self._last = -1

    def next(self) -> int:
        """Return the next match, from the batch at hand or from as many further ones as it takes."""
        match = self._next_match[self._last + 1]
        if match >= self._read_until and self._read_until < self._rows:
            batches = (match - self._read_until) // _BATCH_ROWS + 1
            until = min(self._read_until + batches * _BATCH_ROWS, self._rows)
            self.entries += (until - self._read_until) * self._entries_per_row
            self._read_until = until
        self._last = min(match, self._rows - 1)
        return match

    def advance(self, row: int) -> int:
        """Read from ``row`` to its next match, whatever has been read before."""
        match = self._next_match[min(row, self._rows)]
        last = min(match, self._rows - 1)
        self.entries += max(last - row + 1, 0) * self._entries_per_row
        self._last, self._read_until = last, last + 1
        return match


class OrWalk:
    """The union of its legs."""

    def __init__(self, legs: Sequence[Walk], rows: int) -> None:
        self._legs = legs
        self._at = [-1] * len(legs)
        self._rows = rows
        self._last = -1

    @property
    def entries(self) -> float:
        """Entries read by all legs."""
        return sum(leg.entries for leg in self._legs)

    def next(self) -> int:
        """Move the legs that stand on the match returned last."""
        for number, leg in enumerate(self._legs):
            if self._at[number] == self._last:
                self._at[number] = leg.next()
        self._last = min(self._at)
        return self._last

    def advance(self, row: int) -> int:
        """Move the legs that lie behind ``row``."""
        for number, leg in enumerate(self._legs):
            if self._at[number] < row:
                self._at[number] = leg.advance(row)
        self._last = min(self._at)
        return self._last


class NotWalk:
    """The rows that its child does not match."""

    def __init__(self, child: Walk, rows: int) -> None:
        self._child = child
        self._rows = rows
        self._at = 0
        self._excluded = child.next()

    @property
    def entries(self) -> float:
        """Entries read by the child."""
        return self._child.entries

    def next(self) -> int:
        """Step over rows of the child, asking it for its next match at each."""
        while self._at == self._excluded and self._at < self._rows:
            self._at += 1
            self._excluded = self._child.next()
        if self._at >= self._rows:
            return self._rows
        self._at += 1
        return self._at - 1

    def advance(self, row: int) -> int:
        """Advance the child only where ``row`` lies past the match that is known."""
        self._at = row
        if row > self._excluded:
            self._excluded = self._child.advance(row)
        return self.next()


class AndWalk:
    """The intersection of its children, asked in order until all stand on one row."""

    def __init__(self, children: Sequence[Walk], rows: int) -> None:
        self._children = children
        self._rows = rows
        self._at = 0

    @property
    def entries(self) -> float:
        """Entries read by all children."""
        return sum(child.entries for child in self._children)

    def next(self) -> int:
        """Return the first common match behind the last one."""
        return self.advance(self._at)

    def advance(self, row: int) -> int:
        """Ask the children in turn; who overshoots leads, and the others are asked again."""
        leader, number = -1, 0
        while number < len(self._children):
            if number == leader:
                number += 1
                continue
            if row >= self._rows:
                break
            match = self._children[number].advance(row)
            if match == row:
                number += 1
            else:
                row, leader, number = match, number, 0
        self._at = row + 1
        return min(row, self._rows)


def _next_matches(mask: Mask) -> list[int]:
    """For each row, and for the end, the first match at or after it; the number of rows if none."""
    rows = len(mask)
    here = np.append(np.where(mask, np.arange(rows), rows), rows)
    following: list[int] = np.minimum.accumulate(here[::-1])[::-1].tolist()
    return following
