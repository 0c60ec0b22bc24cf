"""Faults of users' modules are told by module and line, without what they say; others are left alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.user_code import plugin_errors
from starskip.errors import SourceError, StarskipError
from starskip.skipping.registry import load_modules

_MODULE = """import datetime as dt

def label(text):
    return dt.date.fromisoformat(text)
"""


@pytest.fixture
def labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "labels_of_a_user.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    load_modules(["labels_of_a_user"])
    yield sys.modules["labels_of_a_user"]
    del sys.modules["labels_of_a_user"]


def test_what_a_module_raises_names_it_and_its_line_but_no_literal(lab: Any, labels: Any) -> None:
    night = lab.night(skipping_modules=["labels_of_a_user"])
    with pytest.raises(StarskipError) as raised, plugin_errors(night):
        labels.label("a secret")
    assert str(raised.value) == "module labels_of_a_user of skipping.modules, line 4: raised ValueError"


def test_what_others_raise_stays_as_it_is(lab: Any, labels: Any) -> None:
    with pytest.raises(ValueError, match="isoformat"), plugin_errors(lab.night()):
        labels.label("no module of the night's")
    night = lab.night(skipping_modules=["labels_of_a_user"])
    with pytest.raises(SourceError, match="as it is"), plugin_errors(night):
        raise SourceError("as it is", source="events")
    with pytest.raises(ZeroDivisionError), plugin_errors(night):
        raise ZeroDivisionError
