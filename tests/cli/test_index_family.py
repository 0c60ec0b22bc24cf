"""A family of indexes from a user's own module, written as docs/add-an-index-family.md says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.reports.sentences import kind_label, kind_noun

PAGE = Path(__file__).parents[2] / "docs" / "add-an-index-family.md"
LOG = Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz"
NIGHT_LOG = Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-20.log.gz"
ROUTED = """
from starskip.advisor.families.family import AccessPath, Family
from starskip.sql.predicate import Operator

def serves(leaf, target):
    return leaf.operator is Operator.EQUAL

FAMILIES = [Family("bitmap", "a bitmap", "bitmaps", path=AccessPath(serves, lambda column: None))]
"""

BLOOMS = """
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index

class Bloom:
    key = "bloomFilterColumns"

    def in_force(self, config):
        return tuple(config.document.get("tableIndexConfig", {}).get(self.key) or ())

    def write(self, document, config, added, dropped, /):
        held = [name for name in self.in_force(config) if name not in dropped]
        document["tableIndexConfig"][self.key] = held + [name for name in added if name not in held]

    def fragment(self, item, /):
        return {"tableIndexConfig": {self.key: [item]}}

    def entry_of(self, fragment, /):
        return fragment["tableIndexConfig"][self.key][0]

def answer(queries):
    shapes = sorted(queries.window, key=lambda each: -queries.window[each].entries)[:2]
    return AnswerOffer(tuple(
        AnswerCandidate(Index("sieve", name), (name,), {shape: queries.window[shape].entries * 0.5},
                        config={"tableIndexConfig": {"bloomFilterColumns": [name]}})
        for name, shape in zip(("Carrier", "Origin"), shapes)
    ))

FAMILIES = (Family("sieve", "a sieve", "sieves", answer=answer, config=CONFIG),)
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the page's module in it; what is imported from there is forgotten."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert all(len(each.splitlines()) <= 80 for each in code)
    for name, each in zip(("partitions", "texts"), code, strict=True):
        (tmp_path / f"{name}.py").write_text(each)
    (tmp_path / "bitmaps.py").write_text(ROUTED)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("partitions", "texts", "bitmaps", "blooms", "broken"):
        sys.modules.pop(name, None)


def tuned(call: Callable[..., Result], deep_store: Path, *arguments: str | Path) -> dict[str, Any]:
    common = ("--log", LOG, "--segments", deep_store, "--tables", "airlineStats", "--format", "json")
    result = call("tune", *common, *arguments)
    assert result.exit_code == 0, result.stderr
    advice: dict[str, Any] = json.loads(result.stdout)["tables"]["airlineStats"]
    return advice


def test_the_family_of_the_page_is_advised_by_tune(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    advice = tuned(call, deep_store, "--families", "partitions", "--index", "partition")
    (chosen,) = advice["indexes"]
    assert chosen["family"] == "partition"
    assert 0 < chosen["saving_ratio"] <= 1
    (column,) = chosen["columns"]
    keys = chosen["config"]["tableIndexConfig"]["segmentPartitionConfig"]["columnPartitionMap"]
    assert list(keys) == [column]


def test_it_is_weighed_against_indexes_on_columns_and_written_into_the_config(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    config = {"tableName": "airlineStats_OFFLINE", "tableIndexConfig": {"of": "later"}, "routing": {"a": 1}}
    Path("old.json").write_text(json.dumps(config))
    given = ("--families", "partitions", "--index", "inverted,partition", "--table-config", "old.json")
    given = (*given, "--selectivity-threshold", "20")  # an index on the column itself would save more
    (only,) = tuned(call, deep_store, *given, "--max-indexes", "1")["indexes"]
    advice = tuned(call, deep_store, *given, "--output", "new.json", "--max-indexes", "8")
    families = [each["family"] for each in advice["indexes"]]
    assert set(families) == {"inverted", "partition"}
    assert only["family"] in families
    assert set(advice["combined"]["parts"]) == {"indexes", "partition"}
    new = json.loads(Path("new.json").read_text())
    assert new["tableIndexConfig"]["of"] == "later"
    assert new["tableIndexConfig"]["invertedIndexColumns"] == advice["inverted_index_columns"]
    assert "segmentPartitionConfig" in new["tableIndexConfig"]
    assert new["routing"] == {"a": 1, "segmentPrunerTypes": ["partition"]}


@pytest.mark.parametrize("key", ["None", "Bloom()"])
def test_all_chosen_answers_of_a_family_are_written(
    key: str, modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    Path("blooms.py").write_text(BLOOMS.replace("CONFIG", key))
    config = {"tableName": "airlineStats", "tableIndexConfig": {"bloomFilterColumns": ["Dest"]}}
    Path("old.json").write_text(json.dumps(config))
    given = ("--families", "blooms", "--index", "sieve", "--table-config", "old.json")
    advice = tuned(call, deep_store, *given, "--output", "new.json")
    assert [each["columns"] for each in advice["indexes"]] == [["Carrier"], ["Origin"]]
    new = json.loads(Path("new.json").read_text())["tableIndexConfig"]
    assert new == {"bloomFilterColumns": ["Dest", "Carrier", "Origin"]}


def test_a_family_with_an_access_path_is_simulated(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    advice = tuned(call, deep_store, "--families", "bitmaps", "--index", "bitmap")
    assert {each["family"] for each in advice["indexes"]} == {"bitmap"}
    assert 0 < advice["predicted_saving_ratio"] <= 1
    assert advice["indexes"][0]["size_bytes"] is None


@pytest.mark.slow
def test_a_night_advises_it_and_its_report_says_so(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    night = {
        "store": {"artefacts": str(modules / "artefacts")},
        "sources": {"log_paths": [str(NIGHT_LOG)], "segments_root": str(deep_store)},
        "families": "partitions",
        "settings": {
            "scoring": {
                "window_rows_per_table": 2_048,
                "max_simulations_per_table": 300,
                "max_sampled_segments": 2,
            },
            "advice": {"max_indexes": 16},  # eight indexes on columns save more
            "star_tree": {"max_tree_size_ratio": 0.0001},  # hardly any is searched for
        },
    }
    Path("night.yaml").write_text(json.dumps(night))
    for stage in STAGE_NAMES:
        result = call("stage", stage, "--config", "night.yaml", "--run-date", "2026-11-20")
        assert result.exit_code == 0, result.stderr
    pages = [path.read_text() for path in (modules / "artefacts").rglob("*.html")]
    assert any("partitioning of segments" in page and "segmentPartitionConfig" in page for page in pages)


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (None, "there is no such file in the current folder", 2),
        ("x = 1", "has no tuple FAMILIES", 3),
        ("FAMILIES = ('a', 'b')", "has no tuple FAMILIES", 3),
        ("x = 1\n1 / 0", "line 2: ZeroDivisionError", 3),
        ("def (", "SyntaxError", 3),
        ("import sys; sys.exit(5)", "SystemExit: 5", 3),
        ("import not_there_at_all", "not_there_at_all", 3),
    ],
)
def test_a_module_that_is_none_is_one_line(
    text: str | None, words: str, code: int, modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    if text is not None:
        Path("broken.py").write_text(text)
    result = call("tune", "--log", LOG, "--segments", deep_store, "--families", "broken", "--index", "all")
    assert result.exit_code == code, result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert code == 2 or len(result.stderr.splitlines()) == 1
    sources = {"segments_root": "s", "log_paths": ["x"]}
    night = {"store": {"artefacts": "a"}, "sources": sources, "families": "broken"}
    Path("night.yaml").write_text(json.dumps(night))
    staged = call("stage", "parse_query_logs", "--config", "night.yaml", "--run-date", "2026-11-20")
    assert staged.exit_code == 3, "the configuration file is input"
    assert words in staged.stderr


def test_a_module_with_its_ending_gets_a_hint(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    result = call(
        "tune", "--log", LOG, "--segments", deep_store, "--families", "partitions.py", "--index", "all"
    )
    assert result.exit_code == 2
    assert "leave .py out: the module is called partitions" in result.stderr


def test_the_path_family_of_the_page_has_its_own_words_and_codes(
    modules: Path, call: Callable[..., Result], deep_store: Path, line: Callable[..., str]
) -> None:
    entry = {"name": "Dest", "encodingType": "DICTIONARY", "indexTypes": ["IFST"]}
    inverted = {"invertedIndexColumns": ["Dest"]}
    config = {"tableName": "airlineStats", "tableIndexConfig": inverted, "fieldConfigList": [entry]}
    Path("old.json").write_text(json.dumps(config))
    asked = "SELECT COUNT(*) FROM airlineStats WHERE REGEXP_LIKE(Origin, 'sf.', 'i')"
    Path("flags.log").write_text(line(asked, 9_746).replace("table=lineitem", "table=airlineStats") * 50)
    given = ("--families", "texts", "--index", "ifst", "--table-config", "old.json", "--output", "new.json")
    call("tune", "--log", "flags.log", "--segments", deep_store, *given)
    new = json.loads(Path("new.json").read_text())
    assert new["tableIndexConfig"]["invertedIndexColumns"] == ["Dest", "Origin"]
    assert [each["name"] for each in new["fieldConfigList"] if "IFST" in each["indexTypes"]] == [
        "Dest",
        "Origin",
    ]
    assert (kind_label("fst"), kind_label("ifst")) == ("FST index", "IFST index")
    assert (kind_noun("of_nobody"), kind_label("range")) == ("of nobody", "Range index")


OWN_CODE = """
from starskip.advisor.families.family import AccessPath, Family, Obstacle

def serves(leaf, target):
    return True

def obstacle(column):
    return Obstacle("too_short", f"its values have {column.cardinality} forms")

FAMILIES = (Family("text", "a text index", "text indexes", path=AccessPath(serves, obstacle)),)
"""


def test_an_obstacle_may_have_a_code_of_its_own(
    modules: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    Path("broken.py").write_text(OWN_CODE)
    advice = tuned(call, deep_store, "--families", "broken", "--index", "text")
    assert advice["indexes"] == []
    assert "too_short" in {each["reason"] for each in advice["refused"]}


def test_a_family_that_is_not_known_is_named(call: Callable[..., Result], deep_store: Path) -> None:
    result = call("tune", "--log", LOG, "--segments", deep_store, "--index", "inverted,sieve")
    assert result.exit_code == 2
    assert "'sieve' is no family of indexes" in result.stderr


def test_the_settings_of_the_built_in_families_are_those_of_their_values() -> None:
    plain = family_defaults()
    assert plain.kinds == tuple(family.name for family in BUILT_IN)
    assert [type(group) for group in plain.families] == [f.settings for f in BUILT_IN if f.settings]
