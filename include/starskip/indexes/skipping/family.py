"""The family of skipping indexes: metadata of files by which queries on the lake leave files alone."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.execution.engine import Engine
from starskip.indexes.family import Family
from starskip.indexes.family_section import FamilySection
from starskip.indexes.skipping.settings import SkippingSettings
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult


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


SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=_proof,
    gates=_gates,
    section=_section,
)
"""Skipping indexes of tables of the lake."""
