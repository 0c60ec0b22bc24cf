"""The family of secondary indexes: from values to rows of lake tables, several of them intersected.

The functions import what they call: the measuring, gates, proof and section of secondary indexes bring
deltalake and sqlglot, which whoever only looks at families does not need.
"""

from __future__ import annotations

from collections.abc import Mapping

from starskip.advisor.families.family import Family
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.measured import MeasuredAdvice
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine
from starskip.secondary.settings import SECONDARY_NAME, SecondarySettings


def _proof(engine: Engine, night: Night) -> StageResult:
    from starskip.advisor.families.secondary.verify_secondary import publish_secondary_verdicts

    return publish_secondary_verdicts(engine, night)


def _gates() -> Mapping[str, Gate]:
    from starskip.advisor.families.secondary.verify_secondary import SECONDARY_VERDICTS_GATE

    return {"verify_indexes": SECONDARY_VERDICTS_GATE}


def _section() -> FamilySection:
    from starskip.advisor.families.secondary.report.section import SECTION

    return SECTION


def _measured() -> MeasuredAdvice:
    from starskip.advisor.families.secondary.advice.publish_advice import MEASURED_SECONDARY

    return MEASURED_SECONDARY


SECONDARY = Family(
    name=SECONDARY_NAME,
    singular="a secondary index",
    plural="secondary indexes",
    settings=SecondarySettings,
    proof=_proof,
    gates=_gates,
    section=_section,
    measured=_measured,
)
"""Secondary indexes of tables of the lake."""
