"""The bounded intermediate results from which aggregation functions are computed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self


class MeasureKind(Enum):
    """The kinds of intermediate results of a group's values; nulls count in ROWS only."""

    ROWS = "rows"
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    HLL = "hll"
    KLL = "kll"
    T_DIGEST = "tdigest"

    @property
    def is_sketch(self) -> bool:
        """Return whether it answers approximately."""
        return self in (MeasureKind.HLL, MeasureKind.KLL, MeasureKind.T_DIGEST)


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One physical column of a tree's documents; ``column`` is ``*`` for the count of rows.

    Functions share measures: AVG is a SUM and a COUNT, MINMAXRANGE a MIN and a MAX.
    """

    kind_name: str
    column: str

    @classmethod
    def of(cls, kind: MeasureKind, column: str) -> Self:
        """Return the measure of that kind."""
        return cls(kind.value, column)

    @property
    def kind(self) -> MeasureKind:
        """Return the kind as an enum; sorting and files use its name."""
        return MeasureKind(self.kind_name)

    @property
    def name(self) -> str:
        """Return the name of its column in files, such as ``sum(l_quantity)``."""
        return f"{self.kind_name}({self.column})"


COUNT_ROWS = Measure.of(MeasureKind.ROWS, "*")
