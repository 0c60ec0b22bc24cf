"""The change of a table config as a diff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from starskip.reports.config_block import MAX_LINES, config_diff
from starskip.reports.evidence import Evidence

Cases = dict[str, Callable[[], Evidence]]


def lines(evidence: Evidence, kind: str) -> list[str]:
    found = config_diff(evidence)
    assert found is not None
    return [line.text for line in found.lines if line.kind == kind]


def test_the_whole_config_shows_what_joins_and_what_leaves(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    found = config_diff(evidence)
    assert found is not None and found.is_whole
    assert '-      "l_comment"' in lines(evidence, "removed")
    assert '+      "l_suppkey",' in lines(evidence, "added")
    assert any('"enableDynamicStarTreeCreation": true' in line for line in lines(evidence, "added"))
    assert len(lines(evidence, "place")) >= 1
    assert {"invertedIndexColumns", "starTreeIndexConfigs", "enableDynamicStarTreeCreation"} <= {*found.keys}


def test_a_comma_behind_a_line_that_stays_is_no_change(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    now = {"tableIndexConfig": {"loadMode": "MMAP"}}
    then = {"tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["a"]}}
    changed = replace(evidence, change=replace(evidence.change, current=now, config=then))
    assert lines(changed, "removed") == []
    assert '     "loadMode": "MMAP",' in lines(changed, "same")


def test_keys_that_stay_are_not_named(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    keys = {name: replace(each, current=each.proposed) for name, each in evidence.change.keys.items()}
    found = config_diff(replace(evidence, change=replace(evidence.change, keys=keys)))
    assert found is not None and "invertedIndexColumns" not in found.keys


def test_without_the_config_the_changed_keys_are_compared(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    keys_alone = replace(evidence, change=replace(evidence.change, current=None, config=None))
    found = config_diff(keys_alone)
    assert found is not None and not found.is_whole
    assert lines(keys_alone, "place") == []
    assert '-      "l_comment"' in lines(keys_alone, "removed")
    # The tree that the config has stays as it is.
    assert not any("l_shipinstruct" in line for line in lines(keys_alone, "removed"))


def test_a_long_diff_is_cut_and_says_so(cases: Cases) -> None:
    evidence = cases["lineitem"]()
    many = {"invertedIndexColumns": replace(
        evidence.change.keys["invertedIndexColumns"], proposed=tuple(f"c{i}" for i in range(1_000))
    )}  # fmt: skip
    found = config_diff(replace(evidence, change=replace(evidence.change, keys=many)))
    assert found is not None
    assert len(found.lines) == MAX_LINES and found.more > 500


def test_no_change_is_no_diff(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    same = replace(evidence, change=replace(evidence.change, config=evidence.change.current))
    assert config_diff(same) is None
