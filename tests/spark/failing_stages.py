"""Stages that fail on executors; test_stage_job runs them in a process of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import SourceError, StorageOutage
from starskip.execution.engine import Engine
from starskip.night.stage_job import stage_job

ROW = pa.schema([("text", pa.string())])


def bad_input(engine: Engine, night: Night) -> StageResult:
    """Raise an error of ours where the rows are made."""

    def rows(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
        for item in items:
            raise SourceError(f"part-{item}.tar.gz: is damaged; copy it again", source="part")
        yield pa.RecordBatch.from_pylist([], schema=ROW)

    engine.rows_of_items([5], rows, ROW).gather("rows", 10)
    return StageResult({})


def no_answer(engine: Engine, night: Night) -> StageResult:
    """Find the store silent where the rows are made."""

    def rows(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
        raise StorageOutage("s3://night/x: the store does not answer in time", location="s3://night/x")

    engine.rows_of_items([5], rows, ROW).gather("rows", 10)
    return StageResult({})


def too_much(engine: Engine, night: Night) -> StageResult:
    """Send the driver more than it may hold, under a cap that allows it."""

    def rows(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
        for item in items:
            texts = [f"{item}-{position}-" + "x" * 1000 for position in range(20_000)]
            yield pa.RecordBatch.from_pydict({"text": texts}, schema=ROW)

    engine.rows_of_items([1, 2], rows, ROW).gather("texts", 2_000_000)
    return StageResult({})


def a_bug(engine: Engine, night: Night) -> StageResult:
    """Fail in a way that nobody foresaw."""

    def rows(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
        raise ZeroDivisionError("nobody foresaw this")

    engine.rows_of_items([1], rows, ROW).gather("rows", 10)
    return StageResult({})


def fine(engine: Engine, night: Night) -> StageResult:
    """Do nothing and say so."""
    return StageResult({"rows": 0}, ("a warning",))


if __name__ == "__main__":
    sys.argv[1:] = ["--config", str(Path(sys.argv[1])), "--run-date", "yesterday"]
    print(f"no date left with {stage_job(fine)}", flush=True)
    sys.argv[-1] = "2026-11-20"
    for stage in (fine, bad_input, no_answer, too_much, a_bug):
        sys.argv[5:] = [f"--receipt={stage.__name__.replace('_', '')}"]
        if stage is a_bug:
            break
        print(f"{stage.__name__} left with {stage_job(stage)}", flush=True)
    stage_job(a_bug)
