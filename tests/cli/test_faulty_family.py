"""A user's family that is wrong: its table goes without it, all else stays, and a line says why."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

LOG = Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("broken", None)


def tuned(call: Callable[..., Result], deep_store: Path, *arguments: str | Path) -> dict[str, Any]:
    common = ("--log", LOG, "--segments", deep_store, "--tables", "airlineStats", "--format", "json")
    result = call("tune", *common, *arguments)
    assert result.exit_code == 0, result.stderr
    advice: dict[str, Any] = json.loads(result.stdout)["tables"]["airlineStats"]
    return advice


ONE_FAILS = """
print("loaded")
from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.families.family import Family

def answer(queries):
    print("asked")
    if queries.table == "airlineStats":
        raise KeyError("x")
    return AnswerOffer()

FAMILIES = (Family("broken", "a thing", "things", answer=answer),)
"""


def test_a_family_that_fails_is_left_out_of_that_table_alone(
    call: Callable[..., Result], deep_store: Path
) -> None:
    given = ("tune", "--log", LOG, "--segments", deep_store, "--strategy", "estimation")
    plain = json.loads(call(*given, "--index", "inverted", "--format", "json").stdout)["tables"]
    Path("broken.py").write_text(ONE_FAILS)
    result = call(*given, "--families", "broken", "--index", "inverted,broken", "--format", "json")
    assert result.exit_code == 0
    words = "module broken, line 9: broken: answer raised KeyError: ?"
    told = [line for line in result.stderr.splitlines() if line not in ("loaded", "asked")]
    assert told == [f"starskip: warning: table airlineStats: family broken is not used: {words}"]
    plain["airlineStats"]["not_used"] = {"broken": words}
    assert json.loads(result.stdout)["tables"] == plain
    alone = (*given, "--tables", "airlineStats", "--families", "broken", "--index", "broken")
    assert f"not used, a thing, because {words}" in call(*alone).stdout


FAULTY = """
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.family import AccessPath, Family
from starskip.advisor.families.index import Index

def offer(name, saving=0.5, column="Carrier", config={"tableIndexConfig": {"x": ["y"]}}):
    def answer(queries):
        shapes = list(queries.window)[:3]
        saved = {each: queries.window[each].entries * saving for each in shapes}
        return AnswerOffer((AnswerCandidate(Index(name, "c"), (column,), saved, config=config),))
    return answer

def fails(*_):
    raise ValueError("boom")

def unsteady(leaf, version):
    return 1 / 0 if leaf.column == "Carrier" else False

class Key:
    key = "mineColumns"
    in_force = entry_of = fails
    def write(self, document, config, added, dropped):
        fails()
    def fragment(self, item):
        fails()

class Late(Key):
    def in_force(self, config):
        return ()
    def entry_of(self, fragment):
        return fragment

ALWAYS = AccessPath(lambda leaf, version: True, lambda column: None)
FAMILIES = [
    Family(name, "a " + name, name, **fields)
    for name, fields in {
        "huge": {"answer": offer("huge", 1e9)},
        "ghost": {"answer": offer("ghost", column="ghost")},
        "block": {"answer": offer("block", config={"tableIndexConfig": [1]})},
        "raising": {"answer": fails},
        "serving": {"path": AccessPath(unsteady, lambda column: None)},
        "obstacle": {"path": AccessPath(lambda leaf, version: True, fails)},
        "sizing": {"path": AccessPath(lambda leaf, version: True, lambda column: None, sizes=fails)},
        "key": {"path": ALWAYS, "config": Key()},
        "late": {"path": ALWAYS, "config": Late()},
        "late_answer": {"answer": offer("late_answer", 1.0), "config": Late()},
        "document": {"path": ALWAYS, "document": lambda columns: {"x": {1}}},
        "both": {"answer": fails, "path": ALWAYS},
    }.items()
]
"""


def test_no_faulty_family_changes_the_advice_of_the_others(
    call: Callable[..., Result], deep_store: Path
) -> None:
    config = {"tableName": "airlineStats", "tableIndexConfig": {"of": "later"}}
    Path("old.json").write_text(json.dumps(config))
    given = ("--table-config", "old.json", "--strategy", "estimation", "--index")
    plain = tuned(call, deep_store, *given, "inverted,range", "--output", "plain.json")
    Path("broken.py").write_text(FAULTY)
    common = ("--log", LOG, "--segments", deep_store, "--tables", "airlineStats", "--format", "json")
    names = (
        "inverted,range,huge,ghost,block,raising,serving,obstacle,sizing,key,late,late_answer,document,both"
    )
    result = call("tune", *common, *given, names, "--families", "broken", "--output", "new.json")
    assert result.exit_code == 0, result.stderr
    advice = json.loads(result.stdout)["tables"]["airlineStats"]
    assert set(advice.pop("not_used")) == set(names.split(",")[2:])
    assert advice == plain
    assert Path("new.json").read_text() == Path("plain.json").read_text()
    told = re.findall(
        r"warning: table airlineStats: family (\w+) is not used: module broken, line \d+: ", result.stderr
    )
    assert sorted(told) == sorted(names.split(",")[2:])
    assert len(result.stderr.splitlines()) == len(told)


CLASHES = """
from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.families.family import Family

def answer(queries):
    return AnswerOffer()

FAMILIES = [Family(name, "a", "b", answer=answer) for name in ("inverted", "Bad Name,x", "mine", "mine")]
FAMILIES.append(Family("neither", "a", "b"))
FAMILIES.append(Family("odd", 3, "b", answer=answer))
"""


def test_a_family_that_cannot_be_one_is_left_out_of_tune_and_stops_a_night(
    call: Callable[..., Result], deep_store: Path
) -> None:
    Path("broken.py").write_text(CLASHES)
    given = (
        "--tables",
        "airlineStats",
        "--strategy",
        "estimation",
        "--families",
        "broken",
        "--format",
        "json",
    )
    common = ("tune", "--log", LOG, "--segments", deep_store, *given, "--index")
    result = call(*common, "inverted,mine,odd,neither")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["tables"]["airlineStats"]["inverted_index_columns"]
    words = (
        "'inverted', which another one is",
        "'Bad Name,x', which must be",
        "'mine', which another",
        "neither an access path",
        "singular that is no text",
    )
    for line, word in zip(result.stderr.splitlines(), words, strict=True):
        assert line.startswith("starskip: warning: a family is not used: module ")
        assert word in line
    named = call(*common, "odd")
    assert named.exit_code == 2
    assert "'odd' is no family of indexes" in named.stderr
    assert "family odd has singular that is no text" in named.stderr
    night = {"store": {"artefacts": "a"}, "sources": {"segments_root": "s"}, "families": "broken"}
    Path("night.yaml").write_text(json.dumps(night))
    staged = call("stage", "parse_query_logs", "--config", "night.yaml", "--run-date", "2026-11-20")
    assert staged.exit_code == 3
    assert "'inverted', which another one is called too" in staged.stderr


UNITS = """
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, Unit
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index

def answer(queries):
    shape = max(queries.window, key=lambda each: queries.window[each].entries)
    spared = {s.shape_id: s.segments_queried - s.segments_matched for s in queries.shapes}
    unit = Unit("segments", 10.0)
    saved = {shape: spared[shape] * 0.5}, {shape: 1e12}
    return AnswerOffer(tuple(
        AnswerCandidate(Index("spare", str(number)), ("Carrier",), each, unit=unit)
        for number, each in enumerate(saved)
    ), max_answers=1)

FAMILIES = (Family("spare", "a spare", "spares", answer=answer),)
"""


def test_savings_in_another_unit_are_shown_beside_entries_and_refusals_are_told(
    call: Callable[..., Result], deep_store: Path
) -> None:
    Path("broken.py").write_text(UNITS)
    given = ("--families", "broken", "--index", "spare", "--strategy", "estimation")
    advice = tuned(call, deep_store, *given)
    (chosen,) = advice["indexes"]
    assert 0 < chosen["saving_ratio"] <= 1
    assert chosen["saving"] == {"unit": "segments", "amount": 1e12, "entries_each": 10.0}
    (refused,) = [each for each in advice["refused"] if each.get("kind") == "spare"]
    assert refused["columns"] == ["Carrier"]
    assert refused["reason"] in ("below_min_gain", "covered_by_chosen")
    assert refused["detail"].startswith("by itself it saves ")
    text = call("tune", "--log", LOG, "--segments", deep_store, "--tables", "airlineStats", *given).stdout
    assert "(1,000,000,000,000 segments)" in text
    assert "refused a spare by Carrier: " in text
