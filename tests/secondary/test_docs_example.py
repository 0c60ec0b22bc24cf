"""The example of docs/secondary-indexes.md runs, and shows what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "secondary-indexes.md"


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(code, names)
    users = [i * 7919 % 100_000 for i in range(100_000)]
    expected = [i for i, user in enumerate(users) if user < 500 and i % 977 == 77]
    assert sorted(names["found"]["ts"].to_pylist()) == expected
    assert set(names["plan"].chosen) == {"btree:user", "ngram:message"}
    assert "leaves" in capsys.readouterr().out
