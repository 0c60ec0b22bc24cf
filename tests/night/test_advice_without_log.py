"""Advice without a log: what it says of its own certainty, and what it leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_choice import in_force
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.selection.advice_without_log import advice_without_log
from starskip.settings import Settings
from starskip.tables.table_overview import ColumnOverview, TableOverview

pytestmark = pytest.mark.slow

NAMES = "abcd"


@st.composite
def tables(draw: st.DrawFn) -> TableOverview:
    columns = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        columns[name] = ColumnOverview(
            name,
            data_type="INT",
            cardinality=draw(st.none() | st.floats(1, 1e5)),
            entries_per_row=draw(st.sampled_from([1.0, 1.0, 8.0])),
            sorted_ratio=draw(st.sampled_from([0.0, 0.0, 0.5, 0.9, 1.0])),
        )
    of_columns = st.frozensets(st.sampled_from(sorted(columns)))
    return TableOverview("t", 100, 10**6, columns, in_force(draw(of_columns), draw(of_columns)))


@settings(max_examples=60, deadline=None)
@given(
    tables(),
    st.sampled_from(["inverted", "sorted", "all"]),
    st.sampled_from(["0.11", "1.2"]),
    st.dictionaries(st.sampled_from(NAMES), st.floats(0.01, 100), max_size=4),
)
def test_the_interval_holds_the_ratio_and_ends_at_one(
    table: TableOverview, index_kind: str, version: str, weights: dict[str, float]
) -> None:
    of_table = {name: weight for name, weight in weights.items() if name in table.columns}
    advice = advice_without_log(
        table,
        {"t": of_table} if of_table else {},
        families_named(index_kind),
        settings_with(pinot_version=version),
    )
    for recommendation in filter(None, (advice.recommendation, advice.sort_order)):
        saving = recommendation.saving
        assert saving.low <= saving.ratio <= saving.high <= 1.0
        if recommendation.curve and recommendation.chosen:
            k = len(recommendation.chosen)
            (point,) = (point for point in recommendation.curve if point.k == k)
            assert saving.ratio == pytest.approx(point.saving.ratio, abs=1e-4)
    if index_kind == "all":
        assert advice.sort_order is not None
        assert {item.index.family for item in advice.sort_order.chosen} <= {"sorted"}
    assert (advice.drops, advice.typical, advice.log.queries) == ((), None, 0)


@pytest.mark.parametrize("sorted_ratio", [0.5, 0.9, 0.99])
def test_a_column_that_is_sorted_in_most_segments_saves_no_more_than_it_reads(sorted_ratio: float) -> None:
    columns = {
        "a": ColumnOverview("a", cardinality=1000.0, sorted_ratio=sorted_ratio),
        "b": ColumnOverview("b", cardinality=2.0),
    }
    found = advice_without_log(
        TableOverview("t", 100, 10**6, columns), {}, families_named("inverted"), Settings()
    )
    assert 0.7 < found.recommendation.saving.ratio < 0.9


def test_a_range_index_in_force_leaves_nothing_to_save_where_it_answers_equalities() -> None:
    columns = {"a": ColumnOverview("a", cardinality=1000.0)}
    table = TableOverview("t", 100, 10**6, columns, in_force(ranges="a"))
    new = advice_without_log(
        table, {}, families_named("all"), settings_with(pinot_version="1.2")
    ).recommendation
    assert (new.chosen, new.saving.ratio) == ((), 0.0)
    old = advice_without_log(
        table, {}, families_named("all"), settings_with(pinot_version="0.11")
    ).recommendation
    assert [str(item.index) for item in old.chosen] == ["inverted:a"]


def test_desired_entries_do_not_judge_a_guess() -> None:
    columns = {name: ColumnOverview(name, cardinality=100.0) for name in NAMES}
    table = TableOverview("t", 100, 10**6, columns)
    plain = advice_without_log(table, {}, families_named("inverted"), Settings())
    wished = advice_without_log(
        table, {}, families_named("inverted"), settings_with(desirable_entries_scanned_in_filter=10**30)
    )
    assert wished.recommendation.chosen == plain.recommendation.chosen
