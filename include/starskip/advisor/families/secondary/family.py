"""The family of secondary indexes: from values to rows of lake tables, several of them intersected."""

from __future__ import annotations

from starskip.advisor.families.family import Family
from starskip.advisor.families.lazy import lazy_function, lazy_value, lazy_values
from starskip.secondary.settings import SecondarySettings

SECONDARY = Family(
    name="secondary",
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
    proof=lazy_function("starskip.advisor.families.secondary.verify_secondary:publish_secondary_verdicts"),
    gates=lazy_values(
        verify_indexes="starskip.advisor.families.secondary.verify_secondary:SECONDARY_VERDICTS_GATE",
    ),
    section=lazy_value("starskip.advisor.families.secondary.report.section:SECTION"),
    measured=lazy_value("starskip.advisor.families.secondary.advice.publish_advice:MEASURED_SECONDARY"),
)
