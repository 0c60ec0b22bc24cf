"""Opened trees look closely at files whose time of change says nothing yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import StaleTree
from starskip.star_tree.build import file_digests


@pytest.fixture
def opened(trees: Any, tmp_path: Path) -> Any:
    """Trees of a file that was written as they were built, so that its digest is kept."""
    path = tmp_path / "young.csv"
    path.write_text("a\n1\n")
    return trees.build(str(path), trees.config("a", "COUNT__*")), path


def count_digests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    taken: list[Any] = []
    digest = file_digests._digest

    def counted(file: Any) -> str:
        taken.append(file)
        return digest(file)

    monkeypatch.setattr(file_digests, "_digest", counted)
    return taken


def test_a_young_file_is_read_at_each_look_until_it_is_old_enough(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, path = opened
    taken = count_digests(monkeypatch)
    young = path.stat().st_mtime_ns + 1
    found.wall_clock_ns = lambda: young
    for looks in (1, 2):
        found.require_unchanged(at_most_seconds_ago=0)
        assert len(taken) == looks
    found.wall_clock_ns = lambda: young + 5_000_000_000
    for _ in range(3):
        found.require_unchanged(at_most_seconds_ago=0)
    assert len(taken) == 3


def test_a_rewrite_within_the_tick_of_the_clock_is_seen_while_the_file_is_young(opened: Any) -> None:
    found, path = opened
    found.require_unchanged(at_most_seconds_ago=0)
    before = path.stat().st_mtime_ns
    path.write_text("a\n2\n")
    os.utime(path, ns=(before, before))
    found.wall_clock_ns = lambda: before + 1
    with pytest.raises(StaleTree, match=r"changed: .*young\.csv"):
        found.require_unchanged(at_most_seconds_ago=0)
