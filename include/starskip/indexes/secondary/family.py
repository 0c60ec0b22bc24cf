"""The family of secondary indexes: from values to rows of lake tables, several of them intersected."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.execution.engine import Engine
from starskip.indexes.family import Family
from starskip.indexes.family_section import FamilySection
from starskip.indexes.measured import Measured, MeasuredAdvice, SparedFiles
from starskip.indexes.secondary.settings import SecondarySettings
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult
from starskip.storage.snapshot import SnapshotSource


def _proof(engine: Engine, night: Night) -> StageResult:
    # Imported here: whoever names the family alone, as the DAG file does, needs none of it.
    from starskip.indexes.secondary.verify_secondary import publish_secondary_verdicts  # noqa: PLC0415

    return publish_secondary_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.indexes.secondary.verify_secondary import SECONDARY_VERDICTS_GATE  # noqa: PLC0415

    return {"verify_indexes": SECONDARY_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.indexes.secondary.report.section import SECTION  # noqa: PLC0415

    return SECTION


def _measured() -> MeasuredAdvice:
    from starskip.indexes.secondary.advice.publish_advice import (  # noqa: PLC0415
        measured_secondary,
        publish_secondary_advice,
    )

    def measure(
        engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource, spared: SparedFiles
    ) -> Measured:
        found = measured_secondary(engine, night, table, snapshot_of, spared)
        return Measured(found.skips, lambda *chosen: (found.advise(*chosen), found.warnings))

    return MeasuredAdvice(measure, publish_secondary_advice)


SECONDARY = Family(
    name="secondary",
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
    proof=_proof,
    gates=_gates,
    section=_section,
    measured=_measured,
)
