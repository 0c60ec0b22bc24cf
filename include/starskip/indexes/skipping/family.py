"""The family of skipping indexes: metadata of files by which queries on the lake leave files alone."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.execution.engine import Engine
from starskip.indexes.family import Family
from starskip.indexes.family_section import FamilySection
from starskip.indexes.measured import Measured, MeasuredAdvice, SparedFiles
from starskip.indexes.skipping.settings import SkippingSettings
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult
from starskip.storage.snapshot import SnapshotSource


def _proof(engine: Engine, night: Night) -> StageResult:
    # Imported here: whoever names the family alone, as the DAG file does, needs none of it.
    from starskip.indexes.skipping.proof.verify_skipping import publish_skipping_verdicts  # noqa: PLC0415

    return publish_skipping_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.indexes.skipping.proof.verdicts_gate import SKIPPING_VERDICTS_GATE  # noqa: PLC0415

    return {"verify_indexes": SKIPPING_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.indexes.skipping.report.section import SECTION  # noqa: PLC0415

    return SECTION


def _measured() -> MeasuredAdvice:
    from starskip.indexes.skipping.advice.publish_advice import (  # noqa: PLC0415
        measured_skipping,
        publish_skipping_advice,
    )

    def measure(
        engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource, _spared: SparedFiles
    ) -> Measured:
        found = measured_skipping(engine, night, table, snapshot_of)
        return Measured(found.skips, found.advise, found.spared)

    return MeasuredAdvice(measure, publish_skipping_advice)


SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=_proof,
    gates=_gates,
    section=_section,
    measured=_measured,
)
"""Skipping indexes of tables of the lake."""
