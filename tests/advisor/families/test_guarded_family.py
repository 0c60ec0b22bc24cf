"""An error of a user's family, or a wrong value, is one line with module, line and error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries, Unit
from starskip.advisor.families.families import load_families
from starskip.advisor.families.family_faults import family_fault
from starskip.advisor.families.index import Index
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.errors import FamilyFault, SourceError, StorageOutage
from starskip.pinot.table_config import TableConfig
from starskip.tables.table_overview import ColumnOverview, TableOverview

MODULE = """from starskip.errors import StorageOutage
from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.families.family import AccessPath, Family, Obstacle

def raising(*arguments):
    raise ValueError("boom 'a literal'")

def ending(*arguments):
    raise SystemExit(4)

def outage(*arguments):
    raise StorageOutage("a store", location="x")

FAMILIES = (Family("mine", "a thing", "things", {fields}),)
"""
CONFIG = {"tableName": "t", "tableIndexConfig": {"bloomFilterColumns": ["a"], "loadMode": "MMAP"}}


def queries() -> TableQueries:
    """Two shapes: s scanned 100 entries in filter and 40 post filter in 10 queries, r is of another night."""
    shape = ShapeWorkload("t", "s", "", "", 10, 0, 100, 0.0, 40, instances={(("1",),): Instance(10)})
    return TableQueries(
        "t",
        [shape],
        {"s": ShapeEntries(10.0, 100.0, 40.0), "r": ShapeEntries(1.0, 5.0)},
        TableOverview("t", 2, 100, {"a": ColumnOverview("a", index_bytes={"x": 1})}),
        settings_with(),
        (TableConfig("t", document=CONFIG),),
    )


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def of(fields: str) -> Any:
        sys.modules.pop("own_things", None)
        (tmp_path / "own_things.py").write_text(MODULE.replace("{fields}", fields))
        return load_families(["own_things"])[-1]

    yield of
    sys.modules.pop("own_things", None)


def test_what_it_raises_names_module_line_and_error(family: Any) -> None:
    words = "module own_things, line 6: mine: answer raised ValueError: boom"
    with pytest.raises(FamilyFault, match=words) as raised:
        family("answer=raising").answer(queries())
    assert raised.value.family == "mine"
    with pytest.raises(FamilyFault, match="line 9: mine: answer raised SystemExit"):
        family("answer=ending").answer(queries())
    with pytest.raises(FamilyFault, match="mine: answer raised GeneratorExit"):
        family("answer=lambda _: exec('raise GeneratorExit')").answer(queries())
    with pytest.raises(FamilyFault, match="line 6: mine: serves raised") as raised:
        family("path=AccessPath(raising, lambda column: None)").path.serves(None, None)
    assert "a literal" not in str(raised.value)


def test_a_fault_on_an_executor_is_told_by_its_text() -> None:
    stack = "Traceback (most recent call last):\n  …\nstarskip.errors.FamilyFault: "
    words = "module own_things, line 6: mine: serves raised ValueError: boom"
    fault = family_fault(RuntimeError(f"{stack}{words}\n\n\tat org.apache.spark"))
    assert fault is not None
    assert (fault.family, str(fault)) == ("mine", words)
    assert family_fault(RuntimeError("another")) is None


def test_an_outage_of_a_store_passes(family: Any) -> None:
    with pytest.raises(StorageOutage):
        family("answer=outage").answer(queries())


@pytest.mark.parametrize(
    ("fields", "call", "words"),
    [
        (
            "answer=lambda queries: None",
            lambda f: f.answer(queries()),
            "answer returned NoneType, not AnswerOffer",
        ),
        (
            "path=AccessPath(lambda *_: 'yes', lambda column: None)",
            lambda f: f.path.serves(None, None),
            "serves returned str, not bool",
        ),
        (
            "path=AccessPath(lambda *_: None, lambda column: None)",
            lambda f: f.path.serves(None, None),
            "serves returned NoneType, not bool",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: Obstacle(None, 'x'))",
            lambda f: f.path.obstacle(None),
            "whose reason or detail is no text",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: Obstacle('Not a word!', 'x'))",
            lambda f: f.path.obstacle(None),
            "the reason no word",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: None, lambda _: float('nan'))",
            lambda f: f.path.reads_ratio(None),
            "reads_ratio returned reads_ratio of nan",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: None, window_bytes=lambda *_: -1)",
            lambda f: f.path.window_bytes(None, 1, 1, None),
            "window_bytes of -1, not a finite number of at least 0",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: None, prunes=lambda *_: None)",
            lambda f: f.path.prunes(None, None),
            "prunes returned NoneType, not bool",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: None, dictionary_reads=lambda _: -1)",
            lambda f: f.path.dictionary_reads(None),
            "dictionary_reads of -1",
        ),
        ("answer=lambda: None", lambda f: f.answer(queries()), "answer raised TypeError"),
        (
            "document=lambda columns: {'x': {1, 2}}, answer=raising",
            lambda f: f.document([]),
            "document that is no JSON",
        ),
        (
            "proof=lambda *_: AnswerOffer(), answer=raising",
            lambda f: f.proof(None, None),
            "proof returned AnswerOffer, not StageResult",
        ),
        ("gates=lambda: {'x': 1}, answer=raising", lambda f: f.gates(), "gates returned int, not Gate"),
        ("section=lambda: None, answer=raising", lambda f: f.section(), "not FamilySection"),
        ("measured=lambda: None", lambda f: f.measured(), "not MeasuredAdvice"),
    ],
)
def test_what_it_returns_is_checked(fields: str, call: Any, words: str, family: Any) -> None:
    with pytest.raises(FamilyFault, match=words) as raised:
        call(family(fields))
    assert "module own_things, line 14" in str(raised.value)


def candidate(**fields: Any) -> AnswerCandidate:
    given = {"index": Index("mine", "a"), "columns": ("a",), "saving_entries": {"s": 1.0}, **fields}
    return AnswerCandidate(**given)


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (candidate(index=Index("other", "a")), "of another family, 'other'"),
        (candidate(index=Index("mine", "a", is_drop=True)), "no Index to build"),
        (candidate(index=Index("mine", 3)), "no text of one line"),  # type: ignore[arg-type]
        *((candidate(saving_entries={"s": wrong}), "saving_entries") for wrong in (nan, inf, -5.0, "many")),
        (candidate(saving_entries={"s": 101.0}), "a saving of 101 entries of a shape that scanned 100"),
        (candidate(saving_entries={"s": 10**400}), "saving_entries of inf"),
        (candidate(saving_entries={"s": True}), "saving_entries that is bool"),
        (candidate(saving_entries={"deadbeef": 1.0}), "unknown shape, 'deadbeef'"),
        (candidate(saving_entries=[1.0]), "list, not a mapping"),
        *((candidate(size_bytes=wrong), "size_bytes") for wrong in (nan, -100.0, "12")),
        (candidate(columns=()), "columns are no tuple of names"),
        (candidate(columns="a"), "columns are no tuple of names"),
        (candidate(columns=("secret_ssn",)), "unknown column, 'secret_ssn'"),
        (candidate(columns=(["a"],)), "unknown column"),
        (candidate(config={"tableIndexConfig": [1]}), "replaces the block 'tableIndexConfig'"),
        (candidate(config={"tableIndexConfig": None}), "replaces the block 'tableIndexConfig'"),
        (
            candidate(config={"tableIndexConfig": {"bloomFilterColumns": {"a": 1}}}),
            "replaces the block 'tableIndexConfig.bloomFilterColumns'",
        ),
        (
            candidate(config={"tableIndexConfig": {"loadMode": {"a": 1}}}),
            "replaces the block 'tableIndexConfig.loadMode'",
        ),
        (candidate(config={"tableIndexConfig": {"x": {1, 2}}}), "no JSON"),
        (candidate(config={"tableIndexConfig": {"x": nan}}), "no JSON"),
        (candidate(config={"tableIndexConfig": {1: "x"}}), "names that are no texts"),
        (candidate(config={"x": "\ud800"}), "no JSON"),
        (candidate(config={"tableName": "u"}), "another name or type of the table"),
        (candidate(config=["x"]), "list, not a mapping"),
        (candidate(rank="first"), "rank that is str"),
        (candidate(variant=3), "a variant that is no text"),
        (candidate(variant="a\nb"), "a variant that is no text"),
        (candidate(entries_read={"s": -1.0}), "entries_read of -1"),
        (candidate(unit="segments"), "no Unit"),
        (candidate(unit=Unit("segments", 0.0)), "no Unit"),
        (candidate(unit=Unit("", 1.0)), "the name of a unit"),
        (AnswerOffer((candidate(), candidate())), "two candidates 'mine:a'"),
        (AnswerOffer(candidate()), "candidates that are AnswerCandidate"),  # type: ignore[arg-type]
        (AnswerOffer((None,)), "a candidate that is NoneType"),  # type: ignore[arg-type]
        (AnswerOffer(max_answers=-3), "max_answers"),
        (AnswerOffer(max_answers=1.5), "max_answers"),  # type: ignore[arg-type]
        (AnswerOffer(answered=frozenset(["x"])), "answered with an unknown shape"),
        (AnswerOffer(answered="s"), "answered that are str"),  # type: ignore[arg-type]
        (AnswerOffer(total_entries=nan), "total_entries of nan"),
        (AnswerOffer(total_entries=100.0), "total_entries below what the queries scanned"),
        (AnswerOffer(gain_bytes=-1.0), "gain_bytes of -1"),
        ([candidate()], "answer returned list, not AnswerOffer"),
    ],
)
def test_a_wrong_offer_is_named(offer: Any, words: str, family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = family("answer=lambda queries: OFFER")
    whole = AnswerOffer((offer,)) if isinstance(offer, AnswerCandidate) else offer
    monkeypatch.setattr(sys.modules["own_things"], "OFFER", whole, raising=False)
    with pytest.raises(FamilyFault, match=words) as raised:
        found.answer(queries())
    assert str(raised.value).startswith("module own_things, line 14: mine: answer returned ")


@pytest.fixture
def checked(family: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[AnswerOffer], AnswerOffer]:
    def of(offer: AnswerOffer) -> AnswerOffer:
        found = family("answer=lambda queries: OFFER")
        monkeypatch.setattr(sys.modules["own_things"], "OFFER", offer, raising=False)
        checked: AnswerOffer = found.answer(queries())
        return checked

    return of


def test_a_right_offer_is_made_plain(checked: Any) -> None:
    config = {"tableIndexConfig": {"bloomFilterColumns": ["b"]}}
    offer = AnswerOffer([candidate(columns=["a"], size_bytes=3, config=config)])  # type: ignore[arg-type]
    assert checked(offer) == AnswerOffer((candidate(size_bytes=3.0, config=config),))
    config["tableIndexConfig"]["bloomFilterColumns"].append("c")
    assert checked(AnswerOffer()) == AnswerOffer()


def test_entries_post_filter_count_where_the_total_holds_them(checked: Any) -> None:
    offer = AnswerOffer((candidate(saving_entries={"s": 140.0}),), total_entries=145.0)
    assert checked(offer).candidates[0].saving_entries == {"s": 140.0}


def test_savings_in_another_unit_are_exchanged_up_to_what_a_shape_scanned(checked: Any) -> None:
    segments = Unit("segments", 30.0)
    offer = AnswerOffer((candidate(saving_entries={"s": 2, "r": 9}, unit=segments),))
    (found,) = checked(offer).candidates
    assert found.saving_entries == {"s": 60.0, "r": 5.0}
    assert found.amounts == {"s": 2.0, "r": 9.0}


def test_it_gets_copies(family: Any) -> None:
    given = queries()
    found = family("answer=lambda queries: CHANGED(queries) or AnswerOffer()")

    def change(own: TableQueries) -> None:
        own.shapes[0].queries = 0
        own.shapes[0].instances.clear()
        own.window.clear()  # type: ignore[attr-defined]
        assert own.overview is not None
        own.overview.columns["a"].index_bytes.clear()  # type: ignore[attr-defined]
        own.overview.columns.clear()  # type: ignore[attr-defined]
        own.configs[0].document["tableIndexConfig"].clear()

    sys.modules["own_things"].CHANGED = change  # type: ignore[attr-defined]
    found.answer(given)
    assert given == queries()


KEY = """
class Key:
    key = "things"

    def in_force(self, config, /):
        return config.document.get("things", ())

    def write(self, document, config, added, dropped, /):
        {write}

    def fragment(self, item, /):
        return {"things": [item]}

    def entry_of(self, fragment, /):
        return fragment["things"][0]
"""


def with_key(write: str) -> str:
    """Return a family's field with a key of its own."""
    body = KEY.replace("{write}", write).replace("\n", "\\n")
    return f"config=(exec({body!r}.replace('\\\\n', chr(10))), Key())[1]"


@pytest.mark.parametrize("held", [[1, "a"], [["a"]], [None]])
def test_indexes_in_force_of_a_path_are_columns(held: Any, family: Any) -> None:
    config = TableConfig("t", document=CONFIG | {"things": held})
    key = with_key("pass")
    with pytest.raises(FamilyFault, match="in_force returned indexes in force that are no names of columns"):
        family(f"path=AccessPath(raising, raising), {key}").config.in_force(config)
    assert family(f"answer=raising, {key}").config.in_force(config) == tuple(held), "entries of any kind"


@pytest.mark.parametrize(
    ("write", "words"),
    [
        ("document.clear()", "without 'tableName' as it was"),
        ("document['tableName'] = 'u'", "without 'tableName' as it was"),
        ("document['tableIndexConfig'] = {'things': added}", "without 'tableIndexConfig.bloomFilterColumns'"),
        ("document['tableIndexConfig'] = added", "without 'tableIndexConfig' as it was"),
        ("document['tableIndexConfig']['bloomFilterColumns'] = []", "bloomFilterColumns' as it was"),
        ("document['things'] = {1, 2}", "table config that is no JSON"),
        ("document['things'] = added; raise KeyError", "write raised KeyError"),
        ("document['things'] = added", ""),
    ],
)
def test_a_key_writes_what_is_its_own_alone(write: str, words: str, family: Any) -> None:
    key = family(f"answer=raising, {with_key(write)}").config
    document = {**CONFIG, "things": ["old"]}
    if words:
        with pytest.raises(FamilyFault, match=words):
            key.write(document, TableConfig("t", document=CONFIG), ["a"], [])
        assert document == {**CONFIG, "things": ["old"]}
    else:
        key.write(document, TableConfig("t", document=CONFIG), ["a"], [])
        assert document == {**CONFIG, "things": ["a"]}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("answer=raising, config=object()", "family mine has a config without key"),
        ("answer=3", "answer that is no function"),
        ("path=3", "a path that is no AccessPath"),
        ("answer=raising, settings=dict", "settings that are no SettingsGroup"),
        ("path=AccessPath(True, None)", "serves that is no function"),
        ("path=AccessPath(raising, raising, yields_to=5)", "yields_to or segment_index"),
        ("path=AccessPath(raising, raising, yields_to=(5,))", "yields_to or segment_index"),
        ("path=AccessPath(raising, raising, segment_index=None)", "yields_to or segment_index"),
    ],
)
def test_fields_of_another_kind_are_told_at_once(fields: str, words: str, family: Any) -> None:
    with pytest.raises(SourceError, match=words):
        family(fields)


def test_words_are_texts(family: Any) -> None:
    with pytest.raises(SourceError, match="singular that is no text"):
        family("answer=raising), Family('b', 3, 'c', answer=raising")
