"""Savings of applied changes by later logs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.later_nights import ShapeCost, later_saving, standing_changes

costs = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        ShapeCost,
        st.integers(1, 1_000).map(float),
        st.integers(1, 10**9).map(float),
        st.integers(1, 10**6).map(float),
    ),
    min_size=1,
)


@given(before=costs, factor=st.floats(0, 2), slower=st.floats(0.1, 2), data=st.data())
def test_a_night_whose_queries_all_read_a_share_of_before_saves_the_rest(
    before: dict[str, ShapeCost], factor: float, slower: float, data: st.DataObject
) -> None:
    """However often each shape is asked, and whatever queries of new shapes read."""
    now = {
        shape: ShapeCost(
            (queries := data.draw(st.integers(1, 5_000), label=shape)),
            factor * cost.entries / cost.queries * queries,
            slower * (cost.ms or 0.0) / cost.queries * queries,
        )
        for shape, cost in before.items()
    }
    new = data.draw(st.integers(0, 100), label="queries of a new shape")
    known = sum(cost.queries for cost in now.values())
    found = later_saving(before, {**now, "new": ShapeCost(new, 10.0**12, None)})
    assert found is not None
    assert found.saving_ratio == pytest.approx(1 - factor)
    assert found.time_ratio == pytest.approx(1 - slower)
    assert found.covered_ratio == pytest.approx(known / (known + new))


def test_a_night_of_new_shapes_alone_says_nothing() -> None:
    assert later_saving({"a": ShapeCost(1, 10)}, {"b": ShapeCost(1, 10)}) is None
    assert later_saving({"a": ShapeCost(1, 0)}, {"a": ShapeCost(1, 0)}) is None


AT = datetime(2026, 11, 21, 2, tzinfo=UTC)
CITY = LedgerEntry(
    "events",
    AT,
    "ann",
    Event.APPROVED,
    AdvisedIndex("inverted", ("city",), {}, 0.2),
    "2026-11-19",
    interval=(0.3, 0.5),
    table_predicted_saving_ratio=0.4,
)
URL = replace(CITY, index=AdvisedIndex("inverted", ("url",), {}, 0.15))


def test_of_a_part_of_an_advice_no_interval_is_known() -> None:
    applied = replace(CITY, event=Event.APPLIED)
    (part,) = standing_changes([CITY, URL, applied])
    assert (part.saving_ratio, part.interval) == (0.2, None)
    (whole,) = standing_changes([CITY, URL, applied, replace(URL, event=Event.APPLIED)])
    assert (whole.saving_ratio, whole.interval) == (0.4, (0.3, 0.5))
    assert standing_changes([CITY, applied, replace(CITY, event=Event.TAKEN_BACK)]) == []


def test_the_first_whole_night_is_that_of_the_day_that_found_it_there_or_the_day_after_it_was_put() -> None:
    seen, put = (
        replace(CITY, event=Event.APPLIED),
        replace(CITY, event=Event.KEPT, at=AT + timedelta(hours=9)),
    )
    assert [each.since for each in standing_changes([seen])] == [date(2026, 11, 21)]
    assert [each.since for each in standing_changes([put])] == [date(2026, 11, 22)]
