"""Measure skipping indexes of a table for the one choice, and publish what was chosen of them."""

from __future__ import annotations

from starskip.execution.engine import Engine
from starskip.indexes.measured import Measured, MeasuredAdvice, SparedFiles
from starskip.indexes.skipping.advice.publish_advice import measured_skipping, publish_skipping_advice
from starskip.run.night import Night
from starskip.storage.snapshot import SnapshotSource


def _measure(
    engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource, _spared: SparedFiles
) -> Measured:
    found = measured_skipping(engine, night, table, snapshot_of)
    return Measured(found.skips, found.advise, found.spared)


SKIPPING_ADVICE = MeasuredAdvice(_measure, publish_skipping_advice)
