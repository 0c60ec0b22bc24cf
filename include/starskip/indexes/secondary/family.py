"""The family of secondary indexes: from values to rows of lake tables, several of them intersected."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.execution.engine import Engine
from starskip.indexes.family import Family
from starskip.indexes.family_section import FamilySection
from starskip.indexes.secondary.settings import SecondarySettings
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult


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


SECONDARY = Family(
    name="secondary",
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
    proof=_proof,
    gates=_gates,
    section=_section,
)
