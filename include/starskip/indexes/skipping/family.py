"""The family of skipping indexes: metadata of files by which queries on the lake leave files alone."""

from __future__ import annotations

from starskip.indexes.family import Family
from starskip.indexes.family_proof import FamilyProof
from starskip.indexes.family_section import FamilySection
from starskip.indexes.skipping.settings import SkippingSettings


def _proof() -> FamilyProof:
    # Imported here: whoever names the family alone, as the DAG file does, needs none of it.
    from starskip.indexes.skipping.proof.verdicts_gate import SKIPPING_VERDICTS_GATE  # noqa: PLC0415
    from starskip.indexes.skipping.proof.verify_skipping import publish_skipping_verdicts  # noqa: PLC0415

    return FamilyProof(publish_skipping_verdicts, SKIPPING_VERDICTS_GATE)


def _section() -> FamilySection:
    from starskip.indexes.skipping.report.section import SECTION  # noqa: PLC0415

    return SECTION


SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=_proof,
    section=_section,
)
"""Skipping indexes of tables of the lake."""
