"""How a family proves what a night has built of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starskip.execution.engine import Engine
from starskip.run.gate import Gate
from starskip.run.night import Night, StageResult


@dataclass(frozen=True, slots=True)
class FamilyProof:
    """``publish`` answers queries of the night with what is built and without, and publishes the verdicts.

    ``gate`` judges these. Names of counts begin with the family's, since all families' stand side by side.
    """

    publish: Callable[[Engine, Night], StageResult]
    gate: Gate
