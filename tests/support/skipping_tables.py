"""Tables whose files are old enough for their metadata to be trusted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD_S = 1_767_225_600


def aged(folder: Path) -> None:
    """Make all files of a table look as if they had been written long ago."""
    for path in folder.rglob("*"):
        if path.is_file() and "_starskip" not in path.parts:
            os.utime(path, (OLD_S, OLD_S))


def lines_of(folder: Path, files: Mapping[str, str]) -> str:
    """Write a table of text files, one line in each, as of long ago; return its path."""
    folder.mkdir()
    for name, line in files.items():
        (folder / name).write_text(f"{line}\n")
    aged(folder)
    return str(folder)


def files_read(spark: SparkSession) -> int:
    """Return how many files the newest query, of one relation, has read."""
    from starskip.spark.skipping import last_query_stats

    (stats,) = last_query_stats(spark)
    return int(stats["files_read"])


@contextmanager
def settings_of(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change a session's settings for a while, and set what they were before behind it.

    They are not unset: Delta enables reading by field ids once in a session, and needs it from then on.
    """
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value_before in before.items():
            if value_before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value_before)


def pruned_by_skip_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Spark's own planning leave out no file, as in another Spark, whereas skip() does."""
    from starskip.spark.skipping.skipping_rule import SkippingRule

    pruned = SkippingRule.pruned

    def by_skip(rule: SkippingRule, plan: Any, relations: Any, report: Any) -> Any:
        # skip() gathers the reports in a list.
        is_skip = isinstance(getattr(report, "__self__", None), list)
        return pruned(rule, plan, relations, report) if is_skip else plan

    monkeypatch.setattr(SkippingRule, "pruned", by_skip)
