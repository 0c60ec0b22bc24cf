"""The family of skipping indexes: metadata of files by which queries on the lake skip files."""

from __future__ import annotations

from starskip.advisor.families.family import Family
from starskip.advisor.families.lazy import lazy_function, lazy_value, lazy_values
from starskip.advisor.families.skipping.settings import SkippingSettings

SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=lazy_function("starskip.advisor.families.skipping.proof.verify_skipping:publish_skipping_verdicts"),
    gates=lazy_values(
        verify_indexes="starskip.advisor.families.skipping.proof.verdicts_gate:SKIPPING_VERDICTS_GATE",
    ),
    section=lazy_value("starskip.advisor.families.skipping.report.section:SECTION"),
    measured=lazy_value("starskip.advisor.families.skipping.advice.publish_advice:MEASURED_SKIPPING"),
)
"""Skipping indexes of tables of the lake."""
