"""The family of secondary indexes: from values to rows of lake tables, several of them intersected."""

from __future__ import annotations

from starskip.indexes.family import Family
from starskip.indexes.lazy import lazy_function, lazy_value, lazy_values
from starskip.indexes.secondary.settings import SecondarySettings

SECONDARY = Family(
    name="secondary",
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
    proof=lazy_function("starskip.indexes.secondary.verify_secondary:publish_secondary_verdicts"),
    gates=lazy_values(
        verify_indexes="starskip.indexes.secondary.verify_secondary:SECONDARY_VERDICTS_GATE",
    ),
    section=lazy_value("starskip.indexes.secondary.report.section:SECTION"),
    measured=lazy_value("starskip.indexes.secondary.advice.publish_advice:MEASURED_SECONDARY"),
)
