"""Entries that Pinot's AND of scans reads, as an expectation over sampled rows.

AndDocIdIterator (Pinot 0.11) asks its children in turn for their next match at or after a row; a
child that overshoots makes the others catch up. For two independent scans with match ratios a and
b this reads ``rows * (1 + a*b*(2-b)/(a+b-a*b))`` entries; for more there is no closed form. Here
the process is a Markov chain whose state is the child that leads: its expected entries and rows
a cycle give entries a row (renewal-reward). Match ratios are conditional on the children that have
already matched, and the length of a leap is the one seen in the sampled rows, so correlated
columns and clustered rows are followed where the independent formula is 5 % off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]

MAX_CHILDREN = 16
"""Children beyond are taken to be never asked; the work grows with the square of their number."""

_RESTART_RATIO = 1e-9


@dataclass(frozen=True, slots=True)
class LeapfrogCost:
    """Entries read by each child, a row of the segment."""

    entries_per_row: tuple[float, ...]


def leapfrog_cost(masks: Sequence[Mask]) -> LeapfrogCost:
    """Return the expected cost of an AND over scans with these match masks (each of shape [rows]).

    Children are asked in the given order, which matters: Pinot keeps the order of the SQL text.
    """
    masks, never_asked = masks[:MAX_CHILDREN], len(masks[MAX_CHILDREN:])
    children = len(masks)
    leaps = [_rows_to_next_match(mask) for mask in masks]
    # State 0: a new cycle begins, nobody leads; state 1 + j: child j leads and the others catch up.
    states = children + 1
    entries = np.zeros((states, children))
    advance = np.zeros(states)
    moves = np.zeros((states, states))
    for state in range(states):
        leader = state - 1
        # A cycle begins behind an answer; a leader has leapt, so it stands where a run of its matches begins.
        standing = _behind_answers(masks) if leader < 0 else _run_starts(masks[leader])
        reach = 1.0
        for child in range(children):
            if child == leader:
                continue
            asked = int(np.count_nonzero(standing))
            if asked == 0 or reach <= 0.0:
                break
            misses = asked - int(np.count_nonzero(standing & masks[child]))
            # Leaps are 0 on matches: the sum over all rows asked is the sum over the misses.
            leapt = float(np.dot(leaps[child], standing)) / asked
            entries[state, child] += reach * (1.0 + leapt)
            advance[state] += reach * leapt
            moves[state, 1 + child] += reach * misses / asked
            reach *= 1.0 - misses / asked
            standing = standing & masks[child]
        else:
            # All matched: the row is an answer, and the next cycle begins one row on.
            advance[state] += reach
            moves[state, 0] += reach
    visits = _visits_per_cycle(moves)
    rows = float(visits @ advance)
    if rows <= 0.0:
        return LeapfrogCost((1.0,) + (0.0,) * (children + never_asked - 1))
    return LeapfrogCost((*map(float, visits @ entries / rows), *(0.0,) * never_asked))


def _behind_answers(masks: Sequence[Mask]) -> Mask:
    behind = np.roll(np.logical_and.reduce(masks), 1)
    return behind if behind.any() else np.ones_like(behind)


def _run_starts(mask: Mask) -> Mask:
    starts = mask & ~np.roll(mask, 1)
    return starts if starts.any() else mask


def _rows_to_next_match(mask: Mask) -> npt.NDArray[np.float32]:
    """Rows from each row to the next match; past the last one the rows are taken to go round."""
    rows = len(mask)
    hits = np.flatnonzero(mask)
    if not len(hits):
        return np.full(rows, rows, dtype=np.float32)
    next_match = np.append(hits, hits[0] + rows)
    gaps = np.diff(hits, prepend=-1, append=rows - 1)
    return (np.repeat(next_match, gaps) - np.arange(rows)).astype(np.float32)


def _visits_per_cycle(moves: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Expected visits of each state from the start of a cycle until the next one starts."""
    within = moves.copy()
    within[:, 0] = 0.0
    start = np.zeros(len(moves))
    start[0] = 1.0
    # Without a common match the cycle never ends. A tiny chance to begin anew at each step keeps the system
    # solvable and the visits positive, and leaves their long-run shares as they are.
    visits = np.linalg.solve(np.eye(len(moves)) - (1.0 - _RESTART_RATIO) * within.T, start)
    return np.asarray(visits, dtype=np.float64)
