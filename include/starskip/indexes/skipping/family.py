"""The family of skipping indexes: metadata of files by which queries on the lake skip files."""

from __future__ import annotations

from starskip.indexes.family import Family
from starskip.indexes.lazy import lazy_function, lazy_value, lazy_values
from starskip.indexes.skipping.settings import SkippingSettings

SKIPPING = Family(
    name="skipping",
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=lazy_function("starskip.indexes.skipping.proof.verify_skipping:publish_skipping_verdicts"),
    gates=lazy_values(
        verify_indexes="starskip.indexes.skipping.proof.verdicts_gate:SKIPPING_VERDICTS_GATE",
    ),
    section=lazy_value("starskip.indexes.skipping.report.section:SECTION"),
    measured=lazy_value("starskip.indexes.skipping.advice.publish_advice:MEASURED_SKIPPING"),
)
"""Skipping indexes of tables of the lake."""
