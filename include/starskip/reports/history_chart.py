"""Draw the predicted saving over the nights as geometry for an inline SVG whose dots are links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from starskip.number_text import percent, percent_range
from starskip.reports.advice_values import Interval
from starskip.reports.report_summary import SummaryIndex
from starskip.reports.trend import runs_of_nights

WIDE, NARROW, HEIGHT = 880, 330, 220
"""Width and height of the drawing, in its own units; text is as large in the narrow one."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 28, 14, 30
_UNITS_A_LABEL = 100


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One night of a table; a night without a saving chose nothing."""

    run_date: date
    saving_ratio: float | None
    interval: Interval | None
    chosen: tuple[SummaryIndex, ...]
    href: str


@dataclass(frozen=True, slots=True)
class Dot:
    """One night as drawn; ``is_new_set`` if the chosen set differs from the night before."""

    x: float
    y: float
    title: str
    href: str
    is_new_set: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A label on an axis, at ``position`` along it."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class HistoryChart:
    """The geometry that the template draws, in units of its ``view_box``; ``alt`` says the same in words.

    ``lines`` and ``bands``: one for each run of nights without a missing one between them.
    """

    view_box: str
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float
    right: float
    bottom: float
    alt: str


def history_chart(points: Sequence[HistoryPoint], *, width: int = WIDE) -> HistoryChart | None:
    """Return the chart of at least two nights, in any order; None for fewer."""
    ranked = sorted(points, key=lambda point: point.run_date)
    if len(ranked) < 2:
        return None
    first, last = ranked[0].run_date, ranked[-1].run_date
    days = max((last - first).days, 1)
    top = _top(ranked)

    def x(run_date: date) -> float:
        return round(_LEFT + (width - _LEFT - _RIGHT) * (run_date - first).days / days, 1)

    def y(ratio: float) -> float:
        share = min(max(ratio / top, 0.0), 1.0)
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share, 1)

    places = [(x(each.run_date), each) for each in ranked]
    upper = [f"{at},{y(each.interval.high if each.interval else 0.0)}" for at, each in places]
    lower = [f"{at},{y(each.interval.low if each.interval else 0.0)}" for at, each in places]
    runs = runs_of_nights([each.run_date for each in ranked])
    sets = [frozenset(each.chosen) for each in ranked]
    dots = tuple(
        Dot(at, y(each.saving_ratio or 0.0), _title(each), each.href, i > 0 and sets[i] != sets[i - 1])
        for i, (at, each) in enumerate(places)
    )
    steps = range(5) if top in (0.2, 0.4, 1.0) else range(4)
    return HistoryChart(
        view_box=f"0 0 {width} {HEIGHT}",
        lines=tuple(" ".join(f"{dot.x},{dot.y}" for dot in dots[run]) for run in runs),
        bands=tuple(" ".join([*upper[run], *reversed(lower[run])]) for run in runs),
        dots=dots,
        x_ticks=tuple(
            Tick(x(each), f"{each:%b} {each.day}") for each in _labelled(first, last, width // _UNITS_A_LABEL)
        ),
        y_ticks=tuple(
            Tick(y(top * i / steps[-1]), percent(top * i / steps[-1], 0 if top >= 0.1 else 1)) for i in steps
        ),
        left=_LEFT,
        right=width - _RIGHT,
        bottom=HEIGHT - _BOTTOM,
        alt=f"Predicted saving of {len(ranked)} nights. " + "; ".join(map(_title, ranked[-20:])) + ".",
    )


def _top(points: Sequence[HistoryPoint]) -> float:
    """Return the end of the axis: the next round share above all intervals."""
    most = max((each.interval.high if each.interval else each.saving_ratio or 0.0) for each in points)
    return next((top for top in (0.06, 0.2, 0.4, 0.6) if most <= top), 1.0)


def _labelled(first: date, last: date, most: int) -> list[date]:
    step = math.ceil(((last - first).days + 1) / most)
    return [first + timedelta(days=i) for i in range(0, (last - first).days + 1, step)]


def _title(point: HistoryPoint) -> str:
    if point.saving_ratio is None or point.interval is None:
        return f"{point.run_date.isoformat()}: nothing chosen"
    interval = percent_range(point.interval.low, point.interval.high)
    return f"{point.run_date.isoformat()}: {percent(point.saving_ratio)} ({interval})"
