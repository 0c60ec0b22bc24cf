"""Other sets judged from what a night keeps: as its own report, as ``starskip what-if``, as another night."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.deployment.change_of_set import change_of_set
from starskip.advisor.families.families import BUILT_IN, families_named
from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.families.index import Index
from starskip.advisor.run.artefact_rows import night_properties
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.selection import other_sets
from starskip.advisor.selection.other_sets import OtherSets
from starskip.advisor.selection.stored_question import ARTEFACT, stored_question
from starskip.advisor.selection.tune_tables import TuneRequest
from starskip.advisor.selection.what_if import what_if
from starskip.errors import MissingSource, StorageError
from starskip.storage.manifest import Part

BEFORE = STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]
TABLES = ("lineitem", "airlineStats")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a choice may take longer than a person waits."""
    monkeypatch.setattr(other_sets, "CHOICE_TIME_S", 60.0)


def asked_of(night: Any, table: str) -> OtherSets:
    # Airflow's API server does not know the configuration of the night: its settings are kept with it.
    return OtherSets(stored_question(replace(night, settings=family_defaults()), table))


@pytest.fixture(scope="module")
def with_answers(
    make_lab: Callable[..., Any],
    with_trees: Any,
    small_store: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Any, Any]:
    """A lab whose night advises star-trees, too, at a K that leaves something out."""
    root = shutil.copytree(small_store, tmp_path_factory.mktemp("answers") / "lab")
    lab = make_lab(root, settings_with(with_trees, max_indexes=4))
    return lab, lab.run(stages=BEFORE)


@pytest.mark.parametrize("table", TABLES)
def test_the_advised_set_saves_what_the_report_says(with_answers: tuple[Any, Any], table: str) -> None:
    _, night = with_answers
    told = night_properties(night, "recommendations", table)
    sets = asked_of(night, table)
    found = sets.advised
    assert found.combined.to_document() == told["combined"]
    assert found.time is not None
    for name, value in found.time.to_document().items():
        assert value == pytest.approx(told["time"][name]), name
    change = change_of_night(night, table)
    own = change_of_set(table, "what-if", sets, sets.stored.chosen)
    assert {each.name for each in own.indexes} == {each.name for each in change.indexes if not each.is_drop}
    assert (own.saving_ratio, own.interval) == (change.saving_ratio, change.interval)
    by_name = {each.name: each for each in change.indexes}
    for each in own.indexes:
        advised = by_name[each.name]
        assert (each.config, each.size_bytes, each.shapes) == (
            advised.config,
            advised.size_bytes,
            advised.shapes,
        )
        assert each.alone_ratio == pytest.approx(advised.alone_ratio)
    assert sets.shape_changes(found) == []


@pytest.mark.parametrize("table", TABLES)
def test_the_night_s_own_terms_choose_the_advised_set_again(
    with_answers: tuple[Any, Any], table: str
) -> None:
    sets = asked_of(with_answers[1], table)
    assert any(each.answer for each in sets.members.values())
    assert sets.chosen_again(4, None) == sets.stored.chosen
    fewer = sets.chosen_again(1, None)
    assert len(fewer) == 1 and sets.saving(fewer).combined.saving.ratio <= sets.advised.combined.saving.ratio
    size = sets.saving(fewer).size_bytes
    assert size and (sets.saving(sets.chosen_again(4, size)).size_bytes or 0) <= size
    assert sets.chosen_again(4, 1) == frozenset()


def test_another_k_chooses_what_a_night_of_that_k_chooses(
    with_answers: tuple[Any, Any], make_lab: Callable[..., Any]
) -> None:
    lab, night = with_answers
    sets = {table: asked_of(night, table).chosen_again(2, None) for table in TABLES}
    other = make_lab(lab.root, settings_with(lab.settings, max_indexes=2))
    again = other.run(stages=["select_indexes"])
    assert {table: asked_of(again, table).stored.chosen for table in TABLES} == sets
    lab.run(stages=["select_indexes"])


def test_columns_save_what_the_command_says(lab: Any) -> None:
    night = lab.run(stages=BEFORE)
    sets = [frozenset(Index("inverted", name) for name in names) for names in (
        ("l_suppkey",), ("l_suppkey", "l_shipmode"), ("l_partkey", "l_shipinstruct"), (),
    )]  # fmt: skip
    stored = asked_of(night, "lineitem")
    request = TuneRequest(
        [str(lab.logs)], str(lab.segments), ["lineitem"], {}, families_named("inverted", BUILT_IN),
        lab.settings, only=frozenset().union(*sets),
    )  # fmt: skip
    told = what_if(request, sets, lambda _words, items: items).tables["lineitem"]
    for each in told.sets:
        found = stored.saving(each.indexes)
        assert found.saving.ratio == pytest.approx(each.saving.ratio, abs=1e-9)
        assert found.combined.saving.ratio == pytest.approx(each.combined.saving.ratio, abs=1e-9)
        assert found.time is not None and each.time is not None
        assert found.time.saving_ms == pytest.approx(each.time.saving_ms, abs=1e-9)
        assert found.size_bytes == each.size_bytes


def test_what_a_set_changes_is_told_by_shape(with_answers: tuple[Any, Any]) -> None:
    sets = asked_of(with_answers[1], "lineitem")
    asked = sets.saving(frozenset())
    changes = sets.shape_changes(asked)
    assert changes and all(each.asked == each.today for each in changes)
    scanned = sum((each.asked - each.advised) * each.queries for each in changes)
    combined = sets.advised.combined
    assert scanned == pytest.approx(combined.entries_before - combined.entries_after)


def test_a_night_without_its_question_and_a_damaged_one_say_so(lab: Any) -> None:
    night = lab.run(stages=BEFORE)
    part = night.store.snapshot(ARTEFACT, night.date_text).parts()["lineitem"]
    with pytest.raises(MissingSource, match="kept no votes"):
        stored_question(night, "nobody")
    (file,) = part.files
    path = Path(night.store.storage.place) / file.name
    content = path.read_bytes()
    for damaged in (b"", content[:100], b"\x1f\x8b" + b"x" * 100, b"{}", json.dumps({}).encode()):
        path.unlink()
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match="is damaged"):
            stored_question(night, "lineitem")
    path.unlink()
    with pytest.raises(StorageError, match="is damaged"):
        stored_question(night, "lineitem")
    assert isinstance(part, Part)
