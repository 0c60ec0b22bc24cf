"""An error of a user's family, or a wrong value, is one line with module, line and error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.families import load_families
from starskip.advisor.families.index import Index
from starskip.errors import SourceError, StarskipError, StorageOutage

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
    with pytest.raises(StarskipError, match=words):
        family("answer=raising").answer(None)
    with pytest.raises(StarskipError, match="line 9: mine: answer raised SystemExit"):
        family("answer=ending").answer(None)
    with pytest.raises(StarskipError, match="line 6: mine: serves raised") as raised:
        family("path=AccessPath(raising, lambda column: None)").path.serves(None, None)
    assert "a literal" not in str(raised.value)


def test_an_error_of_ours_passes(family: Any) -> None:
    with pytest.raises(StorageOutage):
        family("answer=outage").answer(None)


@pytest.mark.parametrize(
    ("fields", "call", "words"),
    [
        (
            "answer=lambda queries: None",
            lambda f: f.answer(None),
            "answer returned NoneType, not AnswerOffer",
        ),
        (
            "path=AccessPath(lambda *_: 'yes', lambda column: None)",
            lambda f: f.path.serves(None, None),
            "serves returned str, not bool",
        ),
        (
            "path=AccessPath(lambda *_: True, lambda column: Obstacle(None, 'x'))",
            lambda f: f.path.obstacle(None),
            "whose reason or detail is no text",
        ),
        ("answer=lambda: None", lambda f: f.answer(None), "answer raised TypeError"),
    ],
)
def test_what_it_returns_is_checked(fields: str, call: Any, words: str, family: Any) -> None:
    with pytest.raises(StarskipError, match=words) as raised:
        call(family(fields))
    assert "module own_things, line 14" in str(raised.value)


def test_candidates_are_checked(family: Any) -> None:
    found = family("answer=lambda queries: queries").answer

    def offer(**fields: Any) -> AnswerOffer:
        given = {"index": Index("mine", "a"), "columns": ("a",), "saving_entries": {"s": 1.0}, **fields}
        return AnswerOffer((AnswerCandidate(**given),))

    assert found(offer()) == offer()
    for fields in ({"index": Index("other", "a")}, {"saving_entries": {"s": float("nan")}}):
        with pytest.raises(StarskipError, match="answer returned a candidate"):
            found(offer(**fields))


def test_a_key_without_all_its_functions_is_told_at_once(family: Any) -> None:
    with pytest.raises(SourceError, match="config of mine has no key"):
        family("answer=raising, config=object()")
