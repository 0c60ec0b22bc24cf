"""The family of skipping indexes: metadata of files by which queries on the lake skip files.

The functions import what they call: the measuring, gates, proof and section of skipping indexes bring
deltalake and the metadata of files, which whoever only looks at families does not need.
"""

from __future__ import annotations

from collections.abc import Mapping

from starskip.advisor.families.family import Family
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.measured import MeasuredAdvice
from starskip.advisor.families.skipping.settings import SKIPPING_NAME, SkippingSettings
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine


def _proof(engine: Engine, night: Night) -> StageResult:
    from starskip.advisor.families.skipping.verify_skipping import publish_skipping_verdicts

    return publish_skipping_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.advisor.families.skipping.verify_skipping import SKIPPING_VERDICTS_GATE

    return {"verify_indexes": SKIPPING_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.advisor.families.skipping.report.section import SECTION

    return SECTION


def _measured() -> MeasuredAdvice:
    from starskip.advisor.families.skipping.advice.publish_advice import MEASURED_SKIPPING

    return MEASURED_SKIPPING


SKIPPING = Family(
    name=SKIPPING_NAME,
    singular="a skipping index",
    plural="skipping indexes",
    settings=SkippingSettings,
    proof=_proof,
    gates=_gates,
    section=_section,
    measured=_measured,
)
"""Skipping indexes of tables of the lake."""
