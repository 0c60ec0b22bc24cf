from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st
from starskip.reports.advice_values import Interval, NamedIndex
from starskip.reports.history_chart import HEIGHT, NARROW, WIDE, HistoryPoint, history_chart

RATIOS = st.floats(-0.5, 1.5)
SETS = st.lists(st.sampled_from("abc"), unique=True, max_size=3)


@st.composite
def points(draw: st.DrawFn) -> list[HistoryPoint]:
    days = draw(st.lists(st.integers(0, 800), unique=True, min_size=2, max_size=40))
    return [draw(point(date(2026, 1, 1) + timedelta(days=day))) for day in days]


@st.composite
def point(draw: st.DrawFn, run_date: date) -> HistoryPoint:
    chosen = tuple(NamedIndex("inverted", (name,)) for name in draw(SETS))
    low, saving, high = sorted(draw(st.tuples(RATIOS, RATIOS, RATIOS)))
    has_saving = draw(st.booleans())
    interval = Interval(low, high) if has_saving else None
    return HistoryPoint(run_date, saving if has_saving else None, interval, chosen, "/x")


@given(points(), st.sampled_from([WIDE, NARROW]))
def test_everything_is_drawn_inside_in_the_order_of_time(
    given_points: list[HistoryPoint], width: int
) -> None:
    chart = history_chart(given_points, width=width)
    assert chart is not None
    assert len(chart.dots) == len(given_points)
    assert [dot.x for dot in chart.dots] == sorted(dot.x for dot in chart.dots)
    pairs = [tuple(map(float, pair.split(","))) for pair in " ".join(chart.lines + chart.bands).split()]
    assert len(chart.lines) == len(chart.bands) and sum(line.count(",") for line in chart.lines) == len(
        chart.dots
    )
    assert all(0 <= x <= width and 0 <= y <= HEIGHT for x, y in pairs)
    assert all(0 <= tick.position <= width for tick in chart.x_ticks)
    assert 1 <= len(chart.x_ticks) <= width // 100
    assert chart == history_chart(list(reversed(given_points)), width=width)


def test_a_higher_saving_stands_higher_and_a_new_set_is_marked() -> None:
    def night(day: int, saving: float, *columns: str) -> HistoryPoint:
        chosen = tuple(NamedIndex("inverted", (column,)) for column in columns)
        return HistoryPoint(date(2026, 11, day), saving, Interval(saving, saving), chosen, "/x")

    chart = history_chart([night(1, 0.5, "a"), night(2, 0.7, "a"), night(4, 0.6, "a", "b")])
    assert chart is not None
    first, second, third = chart.dots
    assert first.y > third.y > second.y
    assert [dot.is_new_set for dot in chart.dots] == [False, False, True]
    assert third.x - second.x > second.x - first.x
    assert [tick.label for tick in chart.y_ticks] == ["0 %", "25 %", "50 %", "75 %", "100 %"]
    assert "2026-11-02: 70.0 % (70–70 %)" in chart.alt


def test_nights_that_were_missed_leave_a_gap() -> None:
    def lines(*days: int) -> list[int]:
        points = [HistoryPoint(date(2026, 11, day), 0.5, Interval(0.4, 0.6), (), "/x") for day in days]
        chart = history_chart(points)
        assert chart is not None
        return [line.count(",") for line in chart.lines]

    assert lines(1, 2, 3) == [3]
    assert lines(1, 2, 5, 6, 9) == [2, 2, 1]
    assert lines(1, 8, 15) == [3], "a week apart, as they are run"
    assert lines(1, 8, 22) == [2, 1]


def test_the_order_of_the_chosen_indexes_is_no_new_set() -> None:
    a, b = NamedIndex("inverted", ("a",)), NamedIndex("inverted", ("b",))
    nights = [
        HistoryPoint(date(2026, 11, i), 0.1, Interval(0, 0.2), s, "/x") for i, s in ((1, (a, b)), (2, (b, a)))
    ]
    chart = history_chart(nights)
    assert chart is not None and not any(dot.is_new_set for dot in chart.dots)


def test_one_night_is_no_history() -> None:
    assert history_chart([]) is None
    assert history_chart([HistoryPoint(date(2026, 11, 1), 0.5, Interval(0.4, 0.6), (), "/x")]) is None
