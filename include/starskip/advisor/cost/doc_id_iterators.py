"""Entries that Pinot's iterators over matching documents read, counted row by row.

Restates ``AndDocIdIterator``, ``OrDocIdIterator``, ``NotDocIdIterator``, ``SVScanDocIdIterator``,
``MVScanDocIdIterator`` and ``ExpressionScanDocIdIterator`` of Pinot 0.11. The iterators' reads depend on one
another, row by row: a scan that is asked for the *next* match reads 256 rows at once; a scan that is
*advanced* to a row reads from there to its next match and forgets the rows that it had read before. An
expectation over independent predicates is wrong by several times the rows. So the walk itself is repeated,
compiled by Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int32]

SCAN_BATCH_ROWS = 256
"""OPTIMAL_ITERATOR_BATCH_SIZE: rows that a single-value scan reads at once."""
EXPRESSION_BLOCK_ROWS = 10_000
"""MAX_DOC_PER_CALL: rows that an expression is evaluated for at once."""


def _compiled(function: Callable[..., Any]) -> Any:
    """Compile a function, and keep what is compiled for later processes if a folder for it can be written."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:
        # Neither the package's folder nor the user's: a container without a home, say. Each process compiles.
        return njit(function)


_BITMAP, _SCAN, _MULTI_VALUE_SCAN, _EXPRESSION, _AND, _OR, _NOT = range(7)
_NEXT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Bitmap:
    """Matching rows that are known without a scan."""

    mask: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A scan of one column or expression; ``value_counts``: values of each row, None if each has one.

    ``entry_ns``: nanoseconds that reading an entry takes.
    """

    mask: Mask
    value_counts: Counts | None = None
    is_expression: bool = False
    entry_ns: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class AndIterator:
    """Rows that all children match; the children are asked in order."""

    children: tuple[DocIdIterator, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OrIterator:
    """Rows that a child matches."""

    children: tuple[DocIdIterator, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NotIterator:
    """Rows that the child does not match."""

    child: DocIdIterator


DocIdIterator = Bitmap | Scan | AndIterator | OrIterator | NotIterator


@dataclass(frozen=True, slots=True)
class Walked:
    """Entries that a walk has read and matches that it has found; ``is_ended``: it reached the last row.

    ``ns``: nanoseconds that the entries take.
    """

    entries: int
    matches: int
    is_ended: bool
    ns: float = 0.0


def walk(iterator: DocIdIterator, rows: int, max_matches: int | None = None) -> Walked:
    """Ask ``iterator`` for its matches over ``rows`` rows, up to ``max_matches`` of them."""
    match iterator:
        case Bitmap(mask) if max_matches is None:
            return Walked(0, int(np.count_nonzero(mask)), is_ended=True)
        case Scan(mask) if max_matches is None:
            read = rows if iterator.value_counts is None else int(iterator.value_counts.sum())
            return Walked(read, int(np.count_nonzero(mask)), is_ended=True, ns=read * iterator.entry_ns)
    tree = _Flattened()
    root = tree.add(iterator)
    read, matches, is_ended = _walk(
        root,
        tree.nodes(),
        tree.children(),
        tree.masks(),
        tree.value_counts(),
        tree.entry_ns(),
        -1 if max_matches is None else max_matches,
    )
    return Walked(int(read[0]), int(matches), bool(is_ended), float(read[1]))


class _Flattened:
    """A tree of iterators as arrays: one row for each node, children side by side before their parents."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int]] = []
        self._children: list[int] = []
        self._masks: list[Mask] = []
        self._counts: list[Counts] = []
        self._entry_ns: list[float] = []

    def add(self, iterator: DocIdIterator) -> int:
        match iterator:
            case Bitmap(mask):
                return self._leaf(_BITMAP, mask)
            case Scan(mask, counts, is_expression, entry_ns):
                if counts is not None:
                    self._counts.append(counts)
                    return self._leaf(_MULTI_VALUE_SCAN, mask, len(self._counts) - 1, entry_ns)
                return self._leaf(_EXPRESSION if is_expression else _SCAN, mask, entry_ns=entry_ns)
            case NotIterator(child):
                return self._parent(_NOT, [child])
            case AndIterator(children):
                return self._parent(_AND, children)
            case OrIterator(children):
                return self._parent(_OR, children)

    def _leaf(self, kind: int, mask: Mask, counts: int = 0, entry_ns: float = 0.0) -> int:
        self._masks.append(mask)
        self._entry_ns.append(entry_ns)
        self._nodes.append((kind, len(self._masks) - 1, counts))
        return len(self._nodes) - 1

    def _parent(self, kind: int, children: Sequence[DocIdIterator]) -> int:
        added = [self.add(child) for child in children]
        self._nodes.append((kind, len(self._children), len(added)))
        self._children.extend(added)
        return len(self._nodes) - 1

    def nodes(self) -> npt.NDArray[np.int64]:
        """Return for each node its kind, its mask or first child, its counts or number of children."""
        return np.array(self._nodes, np.int64)

    def children(self) -> npt.NDArray[np.int64]:
        return np.array(self._children or [0], np.int64)

    def masks(self) -> npt.NDArray[np.bool_]:
        return np.stack(self._masks)

    def entry_ns(self) -> npt.NDArray[np.float64]:
        """Return the nanoseconds of an entry, by mask."""
        return np.array(self._entry_ns)

    def value_counts(self) -> npt.NDArray[np.int32]:
        if not self._counts:
            return np.empty((1, 0), np.int32)
        return np.stack(self._counts).astype(np.int32, copy=False)


@_compiled
def _walk(root, nodes, children, masks, counts, ns, max_matches):  # type: ignore[no-untyped-def]
    rows = masks.shape[1]
    # For each node: the row to go on from; the row until which a batch was read; the match of a NOT or OR.
    state = np.zeros((len(nodes), 3), np.int64)
    # For each child of an OR, its current match.
    known = np.full(len(children), -1, np.int64)
    frames = np.zeros((len(nodes) + 1, 5), np.int64)
    # Entries, and their nanoseconds.
    read = np.zeros(2, np.float64)
    for node in range(len(nodes)):
        if nodes[node, 0] == _OR:
            state[node, 2] = -1
        elif nodes[node, 0] == _NOT:
            # NotDocIdIterator asks for its child's first match when it is made.
            child = children[nodes[node, 1]]
            state[node, 2] = _move(child, nodes, children, masks, counts, ns, state, known, frames, read)
    matches = 0
    while matches != max_matches:
        if _move(root, nodes, children, masks, counts, ns, state, known, frames, read) >= rows:
            return read, matches, True
        matches += 1
    return read, matches, False


@_compiled
def _match_within(mask, start, end):  # type: ignore[no-untyped-def]
    """Return the first match in rows ``start`` to ``end``, or ``end``."""
    row = start
    while row < end and not mask[row]:
        row += 1
    return row


@_compiled
def _move_leaf(kind, mask, of_rows, ns, state, target, read):  # type: ignore[no-untyped-def]
    """Return the next match of a leaf, or the first one from ``target`` on; the number of rows if none."""
    rows = mask.shape[0]
    if kind == _BITMAP:
        match = _match_within(mask, max(state[0], target), rows)
        state[0] = min(match + 1, rows)
        return match
    if kind == _MULTI_VALUE_SCAN:
        row = state[0] if target == _NEXT else target
        while row < rows:
            read[0] += of_rows[row]
            read[1] += of_rows[row] * ns
            row += 1
            if mask[row - 1]:
                state[0] = row
                return row - 1
        state[0] = row
        return rows
    if kind == _SCAN and target != _NEXT:
        match = _match_within(mask, target, rows)
        passed = max(min(match + 1, rows) - target, 0)
        read[0] += passed
        read[1] += passed * ns
        state[0] = state[1] = min(match + 1, rows)
        return match
    if kind == _EXPRESSION and target != _NEXT:
        if target < state[1]:
            state[0] = max(state[0], target)
        else:
            state[0] = state[1] = target
    batch = SCAN_BATCH_ROWS if kind == _SCAN else EXPRESSION_BLOCK_ROWS
    until = state[1]
    match = _match_within(mask, state[0], until)
    while match >= until and until < rows:
        start = until
        until = min(start + batch, rows)
        read[0] += until - start
        read[1] += (until - start) * ns
        match = _match_within(mask, start, until)
    state[1] = until
    if match >= until:
        state[0] = until
        return rows
    state[0] = match + 1
    return match


@_compiled
def _move(root, nodes, children, masks, counts, ns, state, known, frames, read):  # type: ignore[no-untyped-def]
    """Return the next match of node ``root``, or the number of rows.

    Calls are frames of an array, since Numba cannot keep compiled functions that call themselves. A frame
    holds node, target, place among the children, leading place, row.
    """
    rows = masks.shape[1]
    depth = 0
    frames[0, 0] = root
    frames[0, 1] = _NEXT
    is_call = True
    found = rows
    while depth >= 0:
        frame = frames[depth]
        node = frame[0]
        target = frame[1]
        kind = nodes[node, 0]
        of_node = state[node]
        first = nodes[node, 1]
        if kind < _AND:
            of_rows = counts[nodes[node, 2]] if kind == _MULTI_VALUE_SCAN else counts[0]
            found = _move_leaf(kind, masks[first], of_rows, ns[first], of_node, target, read)
            depth -= 1
            is_call = False
            continue
        child, child_target = -1, _NEXT
        if kind == _NOT:
            if not is_call:
                of_node[2] = found
            elif target != _NEXT:
                of_node[0] = target
                if target > of_node[2]:
                    child, child_target = children[first], target
            if child < 0:
                if of_node[0] == of_node[2]:
                    # Also at the last row, where an AND below begins to read anew.
                    of_node[0] += 1
                    child = children[first]
                else:
                    found = min(of_node[0], rows)
                    of_node[0] += found < rows
        elif kind == _OR:
            last = first + nodes[node, 2]
            if is_call:
                frame[2] = first
                frame[4] = rows
            else:
                known[frame[2]] = found
                frame[4] = min(frame[4], found)
                frame[2] += 1
            while frame[2] < last:
                at = known[frame[2]]
                if (at == of_node[2]) if target == _NEXT else (at < target):
                    child, child_target = children[frame[2]], target
                    break
                frame[4] = min(frame[4], at)
                frame[2] += 1
            if child < 0:
                found = frame[4]
                if found < rows:
                    of_node[2] = found
        else:
            last = first + nodes[node, 2]
            if is_call:
                if target != _NEXT:
                    of_node[0] = target
                frame[2] = first
                frame[3] = -1
                frame[4] = of_node[0]
            elif found == frame[4]:
                frame[2] += 1
            elif found < rows:
                frame[4] = found
                frame[3] = frame[2]
                frame[2] = first
            if is_call or found < rows:
                if frame[2] == frame[3]:
                    frame[2] += 1
                if frame[2] < last:
                    child, child_target = children[frame[2]], frame[4]
                else:
                    found = frame[4]
                    of_node[0] = found + 1
        if child < 0:
            depth -= 1
            is_call = False
        else:
            depth += 1
            frames[depth, 0] = child
            frames[depth, 1] = child_target
            is_call = True
    return found
