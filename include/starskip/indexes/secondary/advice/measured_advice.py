"""Measure secondary indexes of a table for the one choice, and publish what was chosen of them."""

from __future__ import annotations

from starskip.execution.engine import Engine
from starskip.indexes.measured import Measured, MeasuredAdvice, SparedFiles
from starskip.indexes.secondary.advice.publish_advice import measured_secondary, publish_secondary_advice
from starskip.run.night import Night
from starskip.storage.snapshot import SnapshotSource


def _measure(
    engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource, spared: SparedFiles
) -> Measured:
    found = measured_secondary(engine, night, table, snapshot_of, spared)
    return Measured(found.skips, lambda *chosen: (found.advise(*chosen), found.warnings))


SECONDARY_ADVICE = MeasuredAdvice(_measure, publish_secondary_advice)
