"""The choice of a night without the last advice, and by its own queries alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_choice import advised, in_force
from settings_with import settings_with
from starskip.advisor.families.index import Index
from starskip.advisor.selection.past_nights import NO_PAST, PastNights, night_votes
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

MIN_GAIN = 0.05
SETTINGS = settings_with(min_gain_ratio=MIN_GAIN, switch_gain_ratio=0.01)
TABLE = TableOverview(
    "t", 1, 1000, {name: ColumnOverview(name, cardinality=100.0) for name in "abcd"}, in_force(())
)
REST = 1_000
"""Entries that no index saves."""


def night(saved: Mapping[str, int]) -> tuple[list[ShapeWorkload], pa.Table]:
    """A night in which one shape a column reads so many entries, all of which an index on it saves."""
    shapes, votes = [], []
    for column, entries in {**saved, "rest": REST}.items():
        cut = normalize_sql(f"select count(*) from t where {column} = 1")
        squared = entries**2 / 10
        of_shape = ShapeWorkload(
            "t",
            query_shape(cut.skeleton).shape_id,
            column,
            cut.skeleton,
            queries=10,
            entries_scanned_in_filter=entries,
            entries_scanned_in_filter_squared=squared,
            instances={cut.literals: Instance(10, entries, squared)},
        )
        shapes.append(of_shape)
        if column != "rest":
            votes.append(
                {
                    "table": "t",
                    "shape_id": of_shape.shape_id,
                    "leg": 0,
                    "structures": [f"inverted:{column}"],
                    "saving_entries": float(entries),
                    "saving_entries_squared": squared,
                    "saving_entries_cross": squared,
                    "saving_priced_entries": float(entries),
                    "is_complete": True,
                }
            )
    return shapes, pa.Table.from_pylist(votes, VOTES)


def past(*nights: Mapping[str, int], chosen: str = "") -> PastNights:
    held = []
    for age, saved in enumerate(nights, start=1):
        shapes, votes = night(saved)
        of_day = replace(night_votes(shapes, votes, TABLE), run_date=date(2026, 11, 20 - age))
        held.append((0.8**age, of_day))
    return PastNights(held, frozenset(Index("inverted", name) for name in chosen))


def advice(saved: Mapping[str, int], before: PastNights = NO_PAST) -> TableAdvice:
    shapes, votes = night(saved)
    return advised("t", shapes, votes, TABLE, SETTINGS, "all", past=before)


def columns(found: TableAdvice) -> set[str]:
    return {item.index.column for item in found.recommendation.chosen}


def test_an_index_that_adds_too_little_for_a_new_one_is_told_as_kept() -> None:
    saved = {"a": 500, "b": 70}  # b: 4.5 % of 1,570 entries
    found = advice(saved, past(chosen="ab"))
    assert columns(found) == {"a", "b"}
    assert found.fresh is not None
    (kept,) = found.fresh.kept
    assert (kept.columns, kept.rule, kept.asked_ratio) == (("b",), "below_min_gain", MIN_GAIN)
    assert kept.adds_ratio == pytest.approx(70 / 1570)
    assert found.fresh.fresh is not None
    assert found.fresh.fresh.indexes == (("inverted", ("a",)),)
    assert found.fresh.fresh.saving.ratio == pytest.approx(500 / 1570)
    # It looks back at no other night.
    assert found.fresh.tonight_saving is None
    assert advice(saved).fresh is None


def test_an_index_that_another_hardly_beats_is_told_as_kept_in_its_place() -> None:
    tonight = {"a": 500, "b": 505}
    most = settings_with(SETTINGS, max_indexes=1)
    shapes, votes = night(tonight)
    found = advised("t", shapes, votes, TABLE, most, "all", past=past(chosen="a"))
    assert columns(found) == {"a"}
    assert found.fresh is not None and found.fresh.fresh is not None
    assert [each.rule for each in found.fresh.kept] == ["near_equal"]
    assert found.fresh.fresh.indexes == (("inverted", ("b",)),)


savings = st.fixed_dictionaries({name: st.integers(10, 900) for name in "abcd"})


@settings(max_examples=25)
@given(tonight=savings, before=st.lists(savings, max_size=2), chosen=st.sets(st.sampled_from("abcd")))
def test_the_choices_are_those_of_runs_without_the_past(
    tonight: dict[str, int], before: list[dict[str, int]], chosen: set[str]
) -> None:
    """Each is worth what a run is worth that has no last advice, or no earlier night either."""
    known = past(*before, chosen="".join(sorted(chosen)))
    found = advice(tonight, known)
    without_advice, alone = advice(tonight, replace(known, chosen=frozenset())), advice(tonight)

    def worth(ratio: float, count: int) -> float:
        return ratio - MIN_GAIN * count

    def of_run(run: TableAdvice) -> float:
        return worth(run.combined.saving.ratio, len(run.recommendation.chosen))

    fresh = found.fresh.fresh if found.fresh else None
    told = worth(fresh.saving.ratio, len(fresh.indexes)) if fresh else of_run(found)
    assert told == pytest.approx(of_run(without_advice))
    if not before:
        assert found.fresh is None or found.fresh.tonight_saving is None
        return
    assert found.fresh is not None and found.fresh.tonight_saving is not None
    of_night = found.fresh.tonight
    told = (
        worth(of_night.saving.ratio, len(of_night.indexes))
        if of_night
        else worth(found.fresh.tonight_saving.ratio, len(found.recommendation.chosen))
    )
    assert told == pytest.approx(of_run(alone))
    saved = sum(tonight[column] for column in columns(found)) / (sum(tonight.values()) + REST)
    assert found.fresh.tonight_saving.ratio == pytest.approx(saved)
    assert [day.isoformat() for day, _ in found.nights.earlier] == ["2026-11-19", "2026-11-18"][: len(before)]
