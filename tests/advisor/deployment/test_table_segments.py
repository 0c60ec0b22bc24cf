"""Segments of a live table: their order, what they must have, and options that hide an index."""

from __future__ import annotations

from typing import Any

import pytest
from changed_table import COUNTRY, TREE, TS
from starskip.advisor.deployment.table_segments import (
    MAX_LOOKED_AT,
    Wanted,
    hiding_options,
    looked_at,
    newest_first,
    wanted_of,
)

CONFIG = {"tableIndexConfig": {"starTreeIndexConfigs": [{}]}}


def metadata(country: str = "YES", ts: str = "YES", trees: int | None = 1, **more: Any) -> dict[str, Any]:
    return {
        "indexes": {
            "country": {"inverted-index": country, "dictionary": "YES"},
            "ts": {"range-index": ts, "dictionary": "YES"},
        },
        "star-tree-index": [{}] * trees if trees else None,
        "columns": [],
        **more,
    }


@pytest.mark.parametrize(
    ("found", "is_met"),
    [
        (metadata(), True),
        (metadata(country="NO"), False),
        (metadata(ts="NO"), False),
        (metadata(trees=None), False),
        (metadata(trees=2), False),
        ({}, False),
        (metadata() | {"indexes": None}, False),
        # A raw column has no inverted index whatever the config says.
        (metadata() | {"indexes": {"country": {"inverted-index": "NO", "dictionary": "NO"}}}, True),
    ],
)
def test_a_segment_is_done_when_it_has_all_that_was_asked_for(found: dict[str, Any], is_met: bool) -> None:
    assert wanted_of([COUNTRY, TS, TREE], CONFIG, has_trees=True).is_met_by(found) is is_met


def test_a_segment_is_back_when_nothing_is_left() -> None:
    back = wanted_of([COUNTRY, TS, TREE], CONFIG, has_trees=True).reversed(0)
    assert back.is_met_by(metadata("NO", "NO", None))
    assert not back.is_met_by(metadata("YES", "NO", None))
    assert not back.is_met_by(metadata("NO", "NO", 1))
    # A sorted column has an inverted index without being asked.
    is_sorted = [{"columnName": "country", "sorted": True}]
    assert back.is_met_by(metadata("YES", "NO", None, columns=is_sorted))


def test_trees_do_not_count_where_they_do_not_change() -> None:
    assert wanted_of([COUNTRY], CONFIG, has_trees=False).is_met_by(metadata(trees=5))
    assert Wanted(frozenset(), frozenset(), None).is_met_by(metadata(trees=3))


def test_segments_are_ordered_by_the_numbers_in_their_names() -> None:
    names = [f"events_2026-11-0{day}_{number}" for day in (1, 2) for number in (2, 10, 9)]
    assert newest_first(names)[:3] == ["events_2026-11-02_10", "events_2026-11-02_9", "events_2026-11-02_2"]
    many = [f"events_{number}" for number in range(1_000)]
    seen = looked_at(many)
    assert len(seen) == len(set(seen)) == MAX_LOOKED_AT
    assert seen[0] == "events_999"
    assert min(int(each.rpartition("_")[2]) for each in seen) < 30
    assert looked_at(many[:3]) == ["events_2", "events_1", "events_0"]


def test_an_index_is_hidden_where_pinot_knows_how() -> None:
    assert hiding_options(COUNTRY, (0, 11), {}) is None
    assert hiding_options(COUNTRY, (1, 2), {}) == {"skipIndexes": "country=inverted"}
    assert hiding_options(TS, (1, 5), {}) == {"skipIndexes": "ts=range"}
    assert hiding_options(TREE, (0, 11), CONFIG, only_trees_of=[COUNTRY, TREE]) == {"useStarTree": False}
    two = {"tableIndexConfig": {"starTreeIndexConfigs": [{}, {}]}}
    assert hiding_options(TREE, (1, 5), two, only_trees_of=[TREE]) is None
