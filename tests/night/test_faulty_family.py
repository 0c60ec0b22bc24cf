"""A user's family that fails in a night: the advice of the others is as without it, and all say why."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.quality.check_stage import check_stage

pytestmark = [pytest.mark.quality, pytest.mark.slow, pytest.mark.filterwarnings("default")]

MODULE = """
from starskip.advisor.families.answer import AnswerOffer
from starskip.advisor.families.family import AccessPath, Family

def fails(*_):
    raise ValueError("boom")

def serves(leaf, version):
    return 1 / 0 if leaf.column.startswith("l_") else False

def answer(queries):
    if queries.table == "lineitem":
        raise ValueError("boom")
    return AnswerOffer()

FAMILIES = (
    Family("path", "a path", "paths", path=AccessPath(serves, lambda column: None)),
    Family("answers", "an answer", "answers", answer=answer),
    Family("lake", "a thing", "things", measured=fails),
    Family(
        "gates", "a gate", "gates", answer=lambda _: AnswerOffer(), gates=fails, proof=fails, section=fails
    ),
)
"""


def test_each_stage_goes_on_without_it(
    make_lab: Callable[..., Any],
    sound_before: Callable[[str], Path],
    sound: Mapping[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = make_lab(shutil.copytree(sound_before("score_votes"), tmp_path / "before"))
    (tmp_path / "faulty_things.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    night = lab.night()
    kinds = night.settings.advice.index_kinds
    asked = replace(night.settings, kinds=(*night.settings.kinds, "path"))
    asked = asked.changed({"advice.index_kinds": f"{kinds},path"})
    night = replace(night, settings=asked, family_modules=["faulty_things"])
    try:
        for stage in STAGE_NAMES[STAGE_NAMES.index("score_votes") :]:
            lab.run(night, [stage])
            assert all(verdict.passed for verdict in check_stage(night, stage)), stage
    finally:
        sys.modules.pop("faulty_things", None)
    for table, expected in (("lineitem", {"path", "answers", "lake"}), ("airlineStats", {"lake"})):
        rows, files, properties = json.loads(lab.published("recommendations", night)[table])
        assert set(properties.pop("not_used")) == expected
        sound_rows, sound_files, sound_properties = json.loads(sound[table])
        for told in (properties, sound_properties):
            del told["settings"]["advice.index_kinds"]  # it names the families, one more here
        assert [rows, files, properties] == [sound_rows, sound_files, sound_properties]
        assert set(lab.report(table)["not_used"]) == {*expected, "gates"}
    for words in (
        "table lineitem: family path is not used: module faulty_things, line 9: path: serves raised",
        "table lineitem: family answers is not used: module faulty_things",
        "table airlineStats: family lake is not used",
        "family gates is not used: module faulty_things, line 6: gates: proof raised ValueError: boom",
        "table lineitem: family gates is not used: module faulty_things, line 6: gates: section raised",
    ):
        assert lab.warnings.count(words) == 1, words
    assert lab.warnings.count("family lake is not used") == 2
