"""The saving of one table over the nights: runs of nights without a missing one, and a small line of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from starskip.number_text import percent, share

WIDTH, HEIGHT = 96, 24
"""Size of the line, in its own units."""

_MARGIN = 3
_STEADY = 0.005


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The saving that one night predicts, a share."""

    run_date: date
    ratio: float


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The line's runs and its single points, in a box of WIDTH and HEIGHT; ``alt`` says the same in words."""

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    alt: str


def runs_of_nights(nights: Sequence[date]) -> list[slice]:
    """Return the runs of nights that follow each other, as slices of ``nights``, oldest first.

    Nights that are missed leave a gap between two runs: days without one, where there is no other rhythm.
    """
    days = [(later - earlier).days for earlier, later in pairwise(nights)]
    usual = min(days) if len(days) > 1 else 1
    ends = [i for i, gap in enumerate(days, start=1) if gap > usual]
    return [slice(start, end) for start, end in pairwise([0, *ends, len(nights)])]


def sparkline(points: Sequence[TrendPoint], first: date, last: date) -> Sparkline | None:
    """Return the line of ``points``, oldest first, on an axis from ``first`` to ``last``; None for under two.

    Its lower end is nothing saved, its upper end the most that was ever predicted.
    """
    if len(points) < 2:
        return None
    days, most = max((last - first).days, 1), max(max(each.ratio for each in points), 0.01)

    def place(point: TrendPoint) -> tuple[float, float]:
        x = _MARGIN + (WIDTH - 2 * _MARGIN) * (point.run_date - first).days / days
        y = HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * min(max(point.ratio, 0.0) / most, 1.0)
        return round(x, 1), round(y, 1)

    places = [place(each) for each in points]
    runs = runs_of_nights([each.run_date for each in points])
    lines = [" ".join(f"{x},{y}" for x, y in places[run]) for run in runs if len(places[run]) > 1]
    alone = [places[run][0] for run in runs if len(places[run]) == 1]
    told = "; ".join(f"{each.run_date.isoformat()}: {percent(each.ratio)}" for each in points)
    return Sparkline(tuple(lines), (*alone, places[-1]), f"Predicted saving: {told}.")


def trend_words(points: Sequence[TrendPoint]) -> str:
    """Return what the first of ``points`` was, oldest first, where the last is not nearly the same."""
    if len(points) < 2:
        return "one night"
    change = points[-1].ratio - points[0].ratio
    if abs(change) < _STEADY:
        return "steady"
    since = points[0].run_date
    return f"{share(points[0].ratio)} on {since.day} {since:%b}"
