"""The choice of skipping indexes alone, as a night makes it that has nothing else to choose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from starskip.advisor.families.file_indexes.index_choice import FileIndexLimits, IndexChoice
from starskip.advisor.families.file_indexes.judge_choice import FileIndexTask
from starskip.advisor.families.file_indexes.skip_patterns import SkipPatterns
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.measured import skipped_by_any
from starskip.advisor.families.skipping.advice.publish_advice import (
    measured_skipping,
    publish_skipping_advice,
)
from starskip.advisor.run.night import Night
from starskip.advisor.selection.chosen_answers import ChosenAnswers, chosen_answers
from starskip.advisor.selection.recommendation import Budget
from starskip.execution.engine import Engine

ROWS_A_BYTE = 0.125
SOLVING_S = 120.0
"""Seconds for a choice: a proof that it is the best must not depend on how busy a machine is."""


def choose_indexes(
    patterns: SkipPatterns,
    sizes: Mapping[str, int | None],
    limits: FileIndexLimits | None = None,
    kept: Collection[str] = (),
) -> IndexChoice:
    task = FileIndexTask(patterns, sizes, limits or FileIndexLimits(), "skipping", kept, ROWS_A_BYTE)
    found = chosen(task.offer())
    return task.judged(found.file_indexes, found.gap_ratio)


def chosen(skips: FileSkips) -> ChosenAnswers:
    return chosen_answers([], [], Budget(0, 0.0, 0.0, time_s=SOLVING_S), 0.0, {}, skips=[skips])


@dataclass(frozen=True)
class Advised:
    """Number of chosen indexes, and warnings of the stage."""

    chosen: int
    warnings: tuple[str, ...]


def advise_skipping_alone(engine: Engine, night: Night, tables: Sequence[str]) -> Advised:
    """Publish the skipping advice of tables, as select_indexes does."""
    advice, warnings = {}, []
    for table in tables:
        measured = measured_skipping(engine, night, table, skipped_by_any(()))
        found = chosen(measured.skips) if measured.skips else ChosenAnswers()
        advice[table], problems = measured.advise(found.file_indexes, found.gap_ratio)
        warnings += problems
    return Advised(publish_skipping_advice(night, advice), tuple(warnings))
