"""Votes and advice that a night takes over from the artefacts of earlier nights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from settings_with import settings_with
from starskip.advisor.families.index import Index
from starskip.advisor.run.night import Night
from starskip.advisor.selection.past_nights import night_votes, past_nights
from starskip.errors import StorageOutage
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import RECOMMENDATIONS, VOTES, WORKLOAD
from starskip.storage.storage_for import storage_for

A, B = Index("inverted", "a"), Index("inverted", "b")
EMPTY_VOTES = VOTES.empty_table()


@pytest.fixture
def night_of(tmp_path: Path) -> Callable[..., Night]:
    store = ArtefactStore(storage_for(str(tmp_path)))

    def build(day: int, **settings: object) -> Night:
        changed = settings_with(**settings)
        return Night(date(2026, 11, day), store, changed, datetime(2026, 11, day, 3, tzinfo=UTC), "test")

    return build


def publish(
    night: Night,
    *,
    chosen: str,
    saving: float,
    in_force: tuple[str, ...] = (),
    has_votes: bool = True,
    lacks: str = "",
) -> None:
    vote = {
        "table": "t",
        "shape_id": "s",
        "leg": 0,
        "structures": ["inverted:a"],
        "saving_entries": saving,
        "saving_entries_squared": saving**2,
        "saving_entries_cross": saving * 100,
        "saving_priced_entries": saving,
        "is_complete": True,
    }
    zeros = {f.name: 0 for f in WORKLOAD if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)}
    shape = {
        **zeros,
        "table": "t",
        "shape_id": "s",
        "text": "select",
        "skeleton": "select",
        "queries": 1,
        "weight": 1.0,
        "entries_scanned_in_filter": 100,
        "entries_scanned_in_filter_squared": 1e4,
        "instances": [],
    }
    advised = {"table": "t", "verdict": "chosen", "kind": "inverted", "column": chosen, "rank": 1}
    properties = {
        "in_force": list(in_force),
        "sorted_columns": [],
        "asked": list(in_force),
        "answers": [],
        "sort_order": {"column": "day"},
    }
    properties.pop(lacks, None)
    tables = {
        "votes": pa.Table.from_pylist([vote], VOTES),
        "workload": pa.Table.from_pylist([shape], WORKLOAD),
        "recommendations": pa.Table.from_pylist([advised], RECOMMENDATIONS),
    }
    for artefact, rows in tables.items():
        if has_votes or artefact == "recommendations":
            files = night.store.staged_write(artefact, night.date_text).write("t", rows)
            night.publish(artefact, {"t": Part(files, properties if artefact == "recommendations" else {})})


def test_the_first_night_has_no_past(night_of: Callable[..., Night]) -> None:
    past = past_nights(night_of(20), "t")
    assert (past.nights, past.chosen) == ([], frozenset())


def test_nights_weigh_less_the_older_they_are_and_days_without_advice_are_left_out(
    night_of: Callable[..., Night],
) -> None:
    publish(night_of(19), chosen="a", saving=40.0)
    publish(night_of(17), chosen="b", saving=10.0)
    publish(night_of(12), chosen="b", saving=99.0)
    publish(night_of(21), chosen="b", saving=99.0)
    past = past_nights(night_of(20, look_back_nights=7, look_back_decay_ratio=0.5), "t")
    assert [weight for weight, _ in past.nights] == [0.5, 0.125], "not the 12th, eight days ago, nor the 21st"
    assert (past.chosen, past.order) == ({A}, {Index("sorted", "day")}), "the newest advice counts"
    alone = past_nights(night_of(20, look_back_nights=1), "t")
    assert (alone.nights, alone.chosen) == ([], {A}), "advice does not flap either where one night votes"
    assert past_nights(night_of(20), "another").nights == []


def test_a_night_whose_votes_are_gone_still_tells_what_it_advised(night_of: Callable[..., Night]) -> None:
    publish(night_of(19), chosen="a", saving=40.0, has_votes=False)
    past = past_nights(night_of(20), "t")
    assert (past.nights, past.chosen) == ([], frozenset({A}))


def test_nights_before_an_index_was_built_or_dropped_vote_too(night_of: Callable[..., Night]) -> None:
    publish(night_of(18), chosen="a", saving=40.0)
    publish(night_of(19), chosen="a", saving=40.0, in_force=("inverted:b",))
    past = past_nights(night_of(20), "t")
    tonight = night_votes([], EMPTY_VOTES, None)
    assert [votes.asked for _, votes in past.nights] == [{B}, frozenset()]
    assert past.comparable_with(tonight) == past.nights
    assert past.comparable_with(replace(tonight, order=frozenset({"day"}))) == []


def test_a_night_that_cannot_be_read_is_left_out_with_a_warning(
    night_of: Callable[..., Night], tmp_path: Path
) -> None:
    publish(night_of(18), chosen="b", saving=40.0)
    publish(night_of(19), chosen="a", saving=40.0)
    for file in (tmp_path / "votes" / "2026-11-19" / "data").rglob("*.parquet"):
        file.unlink()
    past = past_nights(night_of(20), "t")
    assert ([weight for weight, _ in past.nights], past.chosen) == ([pytest.approx(0.64)], {A})
    assert len(past.warnings) == 1
    assert past.warnings[0].startswith("table t: 2026-11-19 does not vote, it cannot be read: ")


@pytest.mark.parametrize("lacks", ["answers", "asked", "in_force"])
def test_a_night_whose_advice_has_another_form_is_left_out_with_a_warning(
    night_of: Callable[..., Night], lacks: str
) -> None:
    publish(night_of(19), chosen="a", saving=40.0, lacks=lacks)
    past = past_nights(night_of(20), "t")
    assert past.nights == []
    assert past.warnings == (f"table t: 2026-11-19 does not vote, it cannot be read: '{lacks}'",)


def test_a_store_that_does_not_answer_is_no_night_without_a_past(
    night_of: Callable[..., Night], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(night_of(19), chosen="a", saving=40.0)

    def silent(*_: object) -> None:
        raise StorageOutage("s3://night: the store does not answer", location="s3://night")

    monkeypatch.setattr(ArtefactStore, "snapshot", silent)
    with pytest.raises(StorageOutage):
        past_nights(night_of(20), "t")
