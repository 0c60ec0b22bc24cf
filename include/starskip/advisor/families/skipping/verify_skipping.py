"""Ask the queries of lake tables again, with skipping indexes and without: a part of verify_indexes."""

from __future__ import annotations

from starskip.advisor.families.file_indexes.replays import Replays, publish_replays, replays_gate
from starskip.advisor.families.skipping.artefacts import BUILDS, SHAPES, VERDICTS
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine

SKIPPING_VERDICTS_GATE = replays_gate(VERDICTS, "queries of {table} with skipping and without")


def publish_skipping_verdicts(engine: Engine, night: Night) -> StageResult:
    """Publish ``skipping_verdicts`` of the night's tables; tables without an index of it have none."""
    replays = Replays(BUILDS, VERDICTS, "skipping", lambda _: lambda _: True, savings=SHAPES)
    return publish_replays(engine, night, replays)
