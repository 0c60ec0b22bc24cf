"""Artefacts that hold literals of queries are kept by days, and no table's stay for longer."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_nights import DAY_S, NOVEMBER_S, TABLES, expected, found, publish, published, retire


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(published, st.integers(1, 4), st.integers(1, 8), st.none() | st.sets(st.sampled_from(TABLES)))
def test_what_is_kept_by_days_goes_by_the_calendar_whatever_its_table(
    support: SimpleNamespace,
    model: dict[tuple[str, str], set[str]],
    keep: int,
    days: int,
    wanted: set[str] | None,
) -> None:
    store = support.store_on(support.MemoryStorage(now_s=NOVEMBER_S))
    for (artefact, night), tables in model.items():
        publish(store, artefact, night, tables)
    store.storage.now_s += 9 * DAY_S
    retire(store, keep, days={"numbers": days}, tables=wanted)
    newest = max((night for artefact, night in model if artefact == "numbers"), default="")
    assert {place: of for place, of in found(store).items() if place[0] == "numbers"} == {
        (artefact, night): tables
        for (artefact, night), tables in model.items()
        if artefact == "numbers" and (date.fromisoformat(newest) - date.fromisoformat(night)).days < days
    }
    if wanted is None:
        reports = {place: tables for place, tables in model.items() if place[0] == "reports"}
        assert {place: of for place, of in found(store).items() if place[0] == "reports"} == expected(
            reports, keep
        )


def test_literals_of_a_table_that_is_logged_no_more_go_and_its_advice_stays(support: SimpleNamespace) -> None:
    store = support.store_on(support.MemoryStorage(now_s=NOVEMBER_S))
    for artefact in ("queries", "lake_queries", "reports"):
        publish(store, artefact, "2026-09-01", {"silent"})
    for day in range(1, 4):
        publish(store, "queries", f"2026-11-0{day}", {"busy"})
        publish(store, "reports", f"2026-11-0{day}", {"busy"})
    store.storage.now_s += 9 * DAY_S
    # Event logs are not configured any more: the newest of all that hold literals counts.
    retire(store, 2, days={"queries": 2, "lake_queries": 2})
    assert found(store) == {
        ("reports", "2026-09-01"): {"silent"},
        **{(artefact, f"2026-11-0{day}"): {"busy"} for artefact in ("queries", "reports") for day in (2, 3)},
    }


def test_a_night_of_a_far_day_makes_no_other_night_old(support: SimpleNamespace) -> None:
    store = support.store_on(support.MemoryStorage(now_s=NOVEMBER_S))
    for night in ("2026-11-01", "2026-11-02", "2999-01-01"):
        publish(store, "queries", night, {"a"})
    store.storage.now_s += 9 * DAY_S
    assert retire(store, 1, days={"queries": 2}).old == ()


def test_current_state_is_no_night_that_grows_old(support: SimpleNamespace) -> None:
    store = support.store_on(support.MemoryStorage(now_s=NOVEMBER_S))
    for night in ("current", "2026-11-01", "2026-11-03"):
        publish(store, "queries", night, {"a"})
    store.storage.now_s += 9 * DAY_S
    assert retire(store, 1, days={"queries": 1}).nights == ("2026-11-01",)
