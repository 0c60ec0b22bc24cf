"""Intersect k inputs of row addresses, reading none further than needed.

The loop of AsterixDB's INTERSECT operator: find the greatest current address, let every other input catch up
with it, and stop as soon as one input ends. An input catches up by skipping the pieces that end before;
within a window of addresses bitmaps are intersected, the shortest first, which gallops (Bentley and Yao,
1976).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

Addresses = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
LAST_ADDRESS = 2**64 - 1
_FILE_BITS = 32
_MOST_ASKED = 256
"""Addresses for each piece of an input from which pieces are tested one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Entries that are read piece by piece; a piece has no entry outside its ``lows`` to ``highs``.

    ``read`` returns the entries of some pieces, by their numbers, in bitmaps not to be changed: all entries
    for None, else at least the entries among the given addresses.
    """

    lows: Addresses
    highs: Addresses
    read: Callable[[Numbers, BitMap64 | None], Iterable[BitMap64]]

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.lows)


def pieces_together(parts: Sequence[Pieces]) -> Pieces:
    """Return the pieces of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *map(len, parts)])

    def read(numbers: Numbers, among: BitMap64 | None) -> Iterable[BitMap64]:
        of_part = np.searchsorted(starts, numbers, side="right") - 1
        for part in np.unique(of_part).tolist():
            yield from parts[part].read(numbers[of_part == part] - starts[part], among)

    none = np.empty(0, np.uint64)
    return Pieces(
        np.concatenate([none, *(each.lows for each in parts)]),
        np.concatenate([none, *(each.highs for each in parts)]),
        read,
    )


NO_PIECES = pieces_together(())


@dataclass
class PostingInput:
    """The union of pieces in any order, each read when an intersection comes to it.

    ``held``: entries that are known from the start. ``pieces_read`` counts the pieces that were read.
    """

    pieces: Pieces = NO_PIECES
    held: BitMap64 = field(default_factory=BitMap64)
    pieces_read: int = 0
    _order: Numbers = field(init=False, repr=False)
    _lows: Addresses = field(init=False, repr=False)
    _highs: Addresses = field(init=False, repr=False)
    _unread: npt.NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sort the pieces by their first addresses; none is read yet."""
        self._order = rising(self.pieces.lows)
        self._lows = self.pieces.lows[self._order]
        self._highs = self.pieces.highs[self._order]
        self._unread = np.ones(len(self.pieces), np.bool_)

    @property
    def is_held(self) -> bool:
        """Return whether no piece is left to read."""
        return not self._unread.any()

    def seek(self, address: int) -> int | None:
        """Return the first address from ``address`` on that the input may hold, None at its end.

        Pieces that end before are never read.
        """
        self._unread &= self._highs >= np.uint64(address)
        found = _first_from(self.held, address)
        first = int(self._unread.argmax()) if self._unread.any() else None
        if first is None:
            return found
        low = max(int(self._lows[first]), address)
        return low if found is None else min(found, low)

    def next_piece(self, address: int) -> int:
        """Return the beginning of the first piece behind an address."""
        at = int(np.searchsorted(self._lows, np.uint64(address), side="right"))
        unread = np.flatnonzero(self._unread[at:])
        return int(self._lows[at + unread[0]]) if len(unread) else LAST_ADDRESS

    def window(self, start: int, end: int) -> BitMap64:
        """Return the entries from ``start`` to before ``end``, which reads the pieces that lie there."""
        self._hold(self._unread & (self._lows < np.uint64(end)) & (self._highs >= np.uint64(start)))
        if not self.held or (start <= self.held.min() and self.held.max() < end):
            return self.held
        # A bitmap of the window itself would be long: files lie 2**32 apart.
        found = self.held.copy()
        found.remove_range(0, start)
        found.remove_range(end, LAST_ADDRESS)
        return found

    def steps(self, entries: int) -> Iterator[BitMap64]:
        """Yield all addresses, each once: ``entries`` at first, then twice as many each time.

        Later pieces are read only when they are asked for.
        """
        told, new = BitMap64(), self.held.copy()
        for at in range(len(self.pieces) + 1):
            is_last = at == len(self.pieces)
            while len(new) >= entries or (is_last and new):
                step = _least(new, entries)
                yield step
                told |= step
                new, entries = new - step, 2 * entries
            if not is_last and self._unread[at]:
                self._unread[at] = False
                self.pieces_read += 1
                new = union([new, *self.pieces.read(self._order[[at]], None)]) - told

    def among(self, addresses: BitMap64, until: int = 0) -> BitMap64:
        """Return the given addresses that the input has; pieces that reach none of them stay unread.

        ``until``: no later call asks for an address before it; ``LAST_ADDRESS`` if this call is the last.
        From a piece that ends before ``until`` only ``addresses`` are gathered; other pieces are held.
        """
        near = self._near(addresses)
        if until < LAST_ADDRESS:
            later = near & (self._highs >= np.uint64(until))
            self._hold(later)
            near &= ~later
        once = np.flatnonzero(near)
        common = self.held & addresses if self.held else BitMap64()
        if not len(once):
            return common
        self._unread[once] = False
        self.pieces_read += len(once)
        found = [each & addresses for each in self.pieces.read(self._order[once], addresses)]
        return union([common, *found])

    def unread_near(self, addresses: BitMap64) -> int:
        """Return how many pieces ``among`` would read."""
        return int(self._near(addresses).sum())

    def _near(self, addresses: BitMap64) -> npt.NDArray[np.bool_]:
        if len(addresses) > _MOST_ASKED * len(self._lows):
            # A list of all addresses would be long, and the pieces are few.
            near = np.flatnonzero(self._unread).tolist()
            low, high = self._lows.tolist(), self._highs.tolist()
            is_near = np.zeros(len(low), np.bool_)
            for at in near:
                is_near[at] = addresses.range_cardinality(low[at], min(high[at] + 1, LAST_ADDRESS)) > 0
            return is_near
        asked = np.frombuffer(addresses.to_array(), np.uint64)
        before = np.searchsorted(asked, self._lows)
        return self._unread & (np.searchsorted(asked, self._highs, side="right") > before)

    def unread_within(self, start: int, end: int) -> int:
        """Return how many pieces a window would read."""
        return int((self._unread & (self._lows < np.uint64(end)) & (self._highs >= np.uint64(start))).sum())

    def _hold(self, wanted: npt.NDArray[np.bool_]) -> None:
        at = np.flatnonzero(wanted)
        if len(at):
            self._unread[at] = False
            self.pieces_read += len(at)
            self.held = union([self.held, *self.pieces.read(self._order[at], None)])


def rising(lows: Addresses) -> Numbers:
    """Return the order of pieces by their first addresses."""
    return np.argsort(lows, kind="stable")


def union(bitmaps: Sequence[BitMap64]) -> BitMap64:
    """Return the union of bitmaps; it may be one of them itself."""
    held = [each for each in bitmaps if each]
    if not held:
        return BitMap64()
    return held[0] if len(held) == 1 else BitMap64.union(*held)


def intersect(inputs: Sequence[PostingInput]) -> Iterator[BitMap64]:
    """Yield the addresses that all inputs have, in rising windows of at least a file each."""
    inputs = _held_together(inputs)
    if len(inputs) == 1 and inputs[0].is_held:
        if inputs[0].held:
            yield inputs[0].held
        return
    at = _caught_up(inputs, 0) if inputs else None
    while at is not None:
        end = max(min(each.next_piece(at) for each in inputs), _next_file(at))
        # An input is read only where all inputs before it have entries.
        to_read = {id(each): (each.unread_within(at, end), len(each.held)) for each in inputs}
        first, *others = sorted(inputs, key=lambda each: to_read[id(each)])
        common = first.window(at, end)
        # No address behind the end of an input is needed.
        until = LAST_ADDRESS if first.seek(end) is None else end
        for each in others:
            if not common:
                break
            common = each.among(common, until)
        if common:
            yield common
        at = None if end >= LAST_ADDRESS else _caught_up(inputs, end)


def intersection(inputs: Sequence[PostingInput]) -> BitMap64:
    """Return the addresses that all inputs have."""
    found = list(intersect(inputs))
    return reduce(lambda one, two: one | two, found, BitMap64())


def _held_together(inputs: Sequence[PostingInput]) -> Sequence[PostingInput]:
    """Merge the inputs that are in memory to one; their addresses need no walk."""
    held = sorted((each.held for each in inputs if each.is_held), key=len)
    if len(held) < 2:
        return inputs
    common = PostingInput(held=reduce(lambda one, two: one & two, held))
    return [common, *(each for each in inputs if not each.is_held)]


def _caught_up(inputs: Sequence[PostingInput], at: int) -> int | None:
    """Return the first address from ``at`` on that all inputs may hold, None as soon as one has ended."""
    agreed = 0
    number = 0
    while agreed < len(inputs):
        found = inputs[number % len(inputs)].seek(at)
        if found is None:
            return None
        agreed = agreed + 1 if found == at else 1
        at = found
        number += 1
    return at


def _least(bitmap: BitMap64, count: int) -> BitMap64:
    if len(bitmap) <= count:
        return bitmap
    return BitMap64(bitmap.to_array()[:count])


def _next_file(address: int) -> int:
    return min(((address >> _FILE_BITS) + 1) << _FILE_BITS, LAST_ADDRESS)


def _first_from(bitmap: BitMap64, address: int) -> int | None:
    if not bitmap or address > bitmap.max():
        return None
    return int(next(bitmap.iter_equal_or_larger(address)))
