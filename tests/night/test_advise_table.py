"""The advice for one table: what may be chosen, what may be dropped, and nights that follow the advice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from index_choice import advised, in_force
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.past_nights import NO_PAST, PastNights, night_votes
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

Vote = tuple[ShapeWorkload, str, float]


def shape(where: str, entries: int, queries: int = 100) -> ShapeWorkload:
    cut = normalize_sql(f"select count(*) from t where {where}")
    squared = float(entries) ** 2 / queries
    return ShapeWorkload(
        "t",
        query_shape(cut.skeleton).shape_id,
        where,
        cut.skeleton,
        queries=queries,
        entries_scanned_in_filter=entries,
        entries_scanned_in_filter_squared=squared,
        instances={cut.literals: Instance(queries, entries, squared)},
    )


def unparsed(queries: int) -> ShapeWorkload:
    return ShapeWorkload("t", "unparsed:several_tables", "", "", queries=queries)


def votes(rows: Sequence[Vote]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "table": "t",
                "shape_id": voter.shape_id,
                "leg": 0,
                "structures": [text],
                "saving_entries": saving,
                "saving_entries_squared": saving**2,
                "saving_entries_cross": saving**2,
                "saving_priced_entries": saving,
                "is_complete": True,
            }
            for voter, text, saving in rows
        ],
        VOTES,
    )


def table(columns: str, inverted: Collection[str] = (), sorted_by: str = "") -> TableOverview:
    known = {
        name: ColumnOverview(name, cardinality=100.0, sorted_ratio=float(name == sorted_by))
        for name in columns
    }
    return TableOverview("t", 1, 1000, known, in_force(inverted))


def past(*nights: NightVotes, chosen: str = "") -> PastNights:
    weighted = [(0.8**age, night) for age, night in enumerate(nights, start=1)]
    return PastNights(weighted, frozenset(map(parse_index, chosen.split())))


def advice(
    rows: Sequence[Vote],
    overview: TableOverview | None,
    *others: ShapeWorkload,
    before: PastNights = NO_PAST,
    **settings: Any,
) -> TableAdvice:
    shapes = list({voter.shape_id: voter for voter, _, _ in rows}.values()) + list(others)
    return advised("t", shapes, votes(rows), overview, settings_with(**settings), "all", past=before)


def chosen(found: TableAdvice) -> list[str]:
    return [str(item.index) for item in found.recommendation.chosen]


def dropped(found: TableAdvice) -> list[str]:
    return [str(drop.index) for drop in found.drops]


B = shape("b = 1", 100_000)
WANTS_B: Vote = (B, "inverted:b", 100_000.0)


@pytest.mark.parametrize(
    ("voted", "overview", "settings"),
    [
        ("inverted:gone", table("b"), {}),
        ("range:b", table("b"), {"index_kinds": "inverted"}),
        ("inverted:b", table("b", sorted_by="b"), {}),
        ("inverted:b", None, {}),
    ],
    ids=["the column is gone", "its kind is not asked for", "it is sorted now", "there is no segment"],
)
def test_earlier_nights_vote_for_tonights_candidates_alone(
    voted: str, overview: TableOverview | None, settings: Mapping[str, Any]
) -> None:
    voter = shape("gone > 1", 100_000)
    before = past(night_votes([voter], votes([(voter, voted, 100_000.0)]), table("b")))
    assert chosen(advice([], overview, B, before=before, **settings)) == []
    if overview:
        assert chosen(advice([WANTS_B], table("b"), before=before, **settings)) == ["inverted:b"]


def test_following_the_advice_does_not_turn_it_round() -> None:
    """Column a is asked every other day, b by nobody; what is advised is built or dropped each morning."""
    nights: list[NightVotes] = []
    in_force: frozenset[str] = frozenset("b")
    told = []
    last = ""
    for day in range(12):
        other = shape("c > 1", 100_000)
        rows: list[Vote] = []
        if day % 2 == 0:
            asks = shape("a = 1", 0 if "a" in in_force else 100_000)
            text = "without_inverted:a" if "a" in in_force else "inverted:a"
            rows.append((asks, text, -100_000.0 if "a" in in_force else 100_000.0))
        overview = table("abc", in_force)
        found = advice(rows, overview, other, before=past(*reversed(nights[-6:]), chosen=last))
        told.append((chosen(found), dropped(found)))
        nights.append(
            night_votes([other, *(voter for voter, _, _ in rows)], votes(rows), overview, found.nights.asked)
        )
        in_force = in_force | {c.index.column for c in found.recommendation.chosen}
        in_force -= {drop.index.column for drop in found.drops}
        last = " ".join(chosen(found))
    assert told == [(["inverted:a"], ["inverted:b"])] + [([], [])] * 11
    assert in_force == {"a"}


def test_drops_are_judged_on_enough_queries_that_were_understood() -> None:
    indexed = table("bcd", "cd")
    found = advice([WANTS_B], indexed)
    assert dropped(found) == ["inverted:c", "inverted:d"]
    assert "none of 100 queries in 1 night" in found.drops[0].detail
    few = advice([WANTS_B], indexed, min_drop_queries=101)
    assert (dropped(few), few.drops_withheld) == (
        [],
        "100 queries in 1 night are too few to call an index unneeded: at least 101 are asked for",
    )
    dark = advice([WANTS_B], indexed, unparsed(2))
    assert (dropped(dark), dark.drops_withheld) == (
        [],
        "2 of 102 queries in 1 night were not understood, and may need any of the indexes",
    )
    assert dropped(advice([WANTS_B], indexed, unparsed(1))) == ["inverted:c", "inverted:d"]


def test_an_index_that_an_earlier_night_asked_for_stays() -> None:
    asks = shape("c = 1", 0)
    asked = frozenset({Index("inverted", "c")})
    before = past(night_votes([asks], votes([]), table("bc", "c"), asked))
    assert dropped(advice([WANTS_B], table("bc", "c"), before=before)) == []


def test_the_sort_order_does_not_flap() -> None:
    told = []
    last: frozenset[Index] = frozenset()
    for shift in (100, -100, 100, -100):
        a, b = shape("a = 1", 50_000 + shift), shape("b = 1", 50_000 - shift)
        rows: list[Vote] = [(a, "sorted:a", 50_000.0 + shift), (b, "sorted:b", 50_000.0 - shift)]
        found = advice(rows, table("ab"), before=PastNights(order=last))
        assert found.sort_order is not None
        last = frozenset(item.index for item in found.sort_order.chosen)
        told.append([item.index.column for item in found.sort_order.chosen])
    assert told == [["a"]] * 4


def test_a_sort_order_takes_the_room_that_k_leaves() -> None:
    voted = votes([WANTS_B, (B, "sorted:b", 90_000.0)]).to_pylist()
    voted[1]["leg"] = 1

    def advised_with(most: int) -> TableAdvice:
        settings, of_night = settings_with(max_indexes=most), pa.Table.from_pylist(voted, VOTES)
        return advised("t", [B], of_night, table("b"), settings, "all")

    beside, alone = advised_with(2), advised_with(1)
    assert beside.sort_order is not None
    assert [str(item.index) for item in beside.sort_order.chosen] == ["sorted:b"]
    assert alone.sort_order is not None and alone.sort_order.chosen == ()
    assert chosen(alone) == chosen(beside) == ["inverted:b"]
    assert ("sorted:b", "over_max_indexes") in [(str(item.index), item.code) for item in alone.refused]
    assert not any(item.index.family == "sorted" for item in beside.refused)
    (order,) = [item for item in alone.refused if item.index.family == "sorted"]
    assert order.detail.endswith(" of the entries in filters"), "beside an index no order is simulated"


def test_an_index_that_a_person_keeps_is_not_dropped_meanwhile() -> None:
    def decided(index: str, _saving: float) -> str:
        return "it was rejected: the report of June needs it" if index == "without_inverted:c" else ""

    shapes = [WANTS_B[0]]
    question = TableQuestion(
        "t", shapes, votes([WANTS_B]), table("bcd", "cd"), settings_with(), families_named("all")
    )
    assert dropped(advise_table(question)) == ["inverted:c", "inverted:d"]
    found = advise_table(replace(question, decided_against=decided))
    assert dropped(found) == ["inverted:d"]
    why = "it was rejected: the report of June needs it"
    assert f"dropping the inverted index on c is not proposed: {why}" in found.notes


def test_what_was_decided_against_is_not_proposed_again_until_it_saves_more() -> None:
    """Another index takes its place in the choice, and the reason says who said what."""
    both: list[Vote] = [WANTS_B, (shape("c = 1", 50_000), "inverted:c", 50_000.0)]
    shapes = [voter for voter, _, _ in both]
    asked: list[tuple[str, float]] = []

    def decided(index: str, saving: float) -> str:
        asked.append((index, saving))
        return "it was rejected: too large" if index == "inverted:b" and saving < 0.9 else ""

    question = TableQuestion(
        "t", shapes, votes(both), table("bc"), settings_with(), families_named("all"), decided_against=decided
    )
    found = advise_table(question)
    assert chosen(found) == ["inverted:c"]
    assert dict(asked)["inverted:b"] == pytest.approx(2 / 3)
    refusals = {str(each.index): (each.code, each.detail) for each in found.refused}
    assert refusals["inverted:b"] == ("decided_against", "it was rejected: too large")
    assert chosen(advise_table(replace(question, decided_against=lambda _index, _saving: ""))) == [
        "inverted:b",
        "inverted:c",
    ]
