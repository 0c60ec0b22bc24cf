"""A good set of indexes and answers, found greedily and improved by exchanges: the floor of the exact choice.

Greedy by the worth of an addition, and once more by its worth for each byte where bytes are limited (Khuller,
Moss and Naor, "The budgeted maximum coverage problem", 1999). An addition is one index, one answer or a set
of indexes that some queries can use together only. Then one member is exchanged for another, or dropped, as
long as that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from starskip.advisor.selection.choice_items import Amounts, Flags
from starskip.advisor.selection.set_values import SetValues

_MOST_BUNDLES = 300
_LEAST_RATIO = 1e-12
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LinearLimits:
    """``amounts @ chosen <= at_most``, one row a limit; chosen over indexes, then answers.

    ``byte_shares``: the largest share of a limit of bytes that each takes, None if no bytes are limited.
    """

    amounts: Amounts
    at_most: Amounts
    byte_shares: Amounts | None = None

    def allow(self, chosen: Flags) -> Flags:
        """Return which of the sets (rows) keep within all limits."""
        used = chosen.astype(np.float64) @ self.amounts.T
        allowed: Flags = np.logical_and.reduce(used <= self.at_most * (1 + 1e-15), axis=1)
        return allowed


def greedy_set(values: SetValues, limits: LinearLimits, time_s: float) -> Flags:
    """Return the best set found in about ``time_s``."""
    deadline = monotonic() + time_s

    def has_time() -> bool:
        return monotonic() < deadline

    moves = _moves(values)
    nothing = np.zeros(values.variables, np.bool_)
    found = [_grown(values, limits, moves, None, has_time)]
    if limits.byte_shares is not None and has_time():
        found.append(_grown(values, limits, moves, limits.byte_shares, has_time))
    best: Flags = max([nothing, *found], key=lambda chosen: float(values.worth(chosen[None, :])[0]))
    return _exchanged(values, limits, best, has_time)


def _moves(values: SetValues) -> Flags:
    """Return the sets that may be added at once: rows over indexes and answers."""
    singles = np.eye(values.variables, dtype=np.bool_)
    is_bundle = (values.sizes > 1) & (values.sizes <= 4)
    found: dict[tuple[int, ...], float] = {}
    for row in np.flatnonzero(is_bundle & (values.savings > 0)).tolist():
        start, stop = values.needs.indptr[row : row + 2]
        key = tuple(values.needs.indices[start:stop].tolist())
        found[key] = found.get(key, 0.0) + float(values.savings[row])
    heaviest = sorted(found, key=lambda key: (-found[key], key))[:_MOST_BUNDLES]
    bundles = np.zeros((len(heaviest), values.variables), np.bool_)
    for row, key in enumerate(heaviest):
        bundles[row, list(key)] = True
    return np.concatenate([singles, bundles])


def _grown(
    values: SetValues,
    limits: LinearLimits,
    moves: Flags,
    shares: Amounts | None,
    has_time: Callable[[], bool],
) -> Flags:
    """Return the set after all worthwhile additions; the first addition is made whatever the time."""
    chosen: Flags = np.zeros(values.variables, np.bool_)
    worth = float(values.worth(chosen[None, :])[0])
    while not chosen.any() or has_time():
        larger: Flags = np.logical_or(chosen, moves)
        larger = larger[(larger != chosen).any(axis=1)]
        larger = larger[limits.allow(larger)]
        if not len(larger):
            return chosen
        gains = values.worth(larger) - worth
        weights = gains if shares is None else gains / np.maximum((larger & ~chosen) @ shares, _LEAST_SHARE)
        best = int(np.argmax(weights))
        if gains[best] <= _LEAST_RATIO * max(abs(worth), 1.0):
            return chosen
        chosen, worth = np.asarray(larger[best]), worth + float(gains[best])
    return chosen


def _exchanged(values: SetValues, limits: LinearLimits, chosen: Flags, has_time: Callable[[], bool]) -> Flags:
    """Return the set after all exchanges of one member, and removals, that make it worth more."""
    worth = float(values.worth(chosen[None, :])[0])
    is_better = True
    while is_better and has_time():
        is_better = False
        for member in np.flatnonzero(chosen).tolist():
            others = _exchanges(chosen, member)
            others = others[limits.allow(others)]
            found = values.worth(others)
            best = int(np.argmax(found)) if len(found) else -1
            if best >= 0 and found[best] > worth + _LEAST_RATIO * max(abs(worth), 1.0):
                chosen, worth, is_better = others[best], float(found[best]), True
                break
            if not has_time():
                break
    return chosen


def _exchanges(chosen: Flags, member: int) -> Flags:
    rest = chosen.copy()
    rest[member] = False
    outside: Sequence[int] = np.flatnonzero(~chosen).tolist()
    others = np.repeat(rest[None, :], len(outside) + 1, axis=0)
    others[np.arange(len(outside)), outside] = True
    return others
