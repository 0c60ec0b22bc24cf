"""Pre-aggregations under Pinot's names: function-column pairs such as ``SUM__Impressions``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

from starskip.errors import ConfigError
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind

_SEPARATOR = "__"


class AggregationFunction(Enum):
    """The functions whose intermediate results have a bounded size."""

    COUNT = "COUNT"
    MIN = "MIN"
    MAX = "MAX"
    SUM = "SUM"
    AVG = "AVG"
    MINMAXRANGE = "MINMAXRANGE"
    DISTINCTCOUNTHLL = "DISTINCTCOUNTHLL"
    PERCENTILEEST = "PERCENTILEEST"
    PERCENTILETDIGEST = "PERCENTILETDIGEST"


_MEASURES = {
    AggregationFunction.COUNT: (MeasureKind.COUNT,),
    AggregationFunction.MIN: (MeasureKind.MIN,),
    AggregationFunction.MAX: (MeasureKind.MAX,),
    AggregationFunction.SUM: (MeasureKind.SUM,),
    AggregationFunction.AVG: (MeasureKind.SUM, MeasureKind.COUNT),
    AggregationFunction.MINMAXRANGE: (MeasureKind.MIN, MeasureKind.MAX),
    AggregationFunction.DISTINCTCOUNTHLL: (MeasureKind.HLL,),
    AggregationFunction.PERCENTILEEST: (MeasureKind.KLL,),
    AggregationFunction.PERCENTILETDIGEST: (MeasureKind.T_DIGEST,),
}

BOUNDED_INSTEAD = {
    "DISTINCTCOUNT": "DISTINCTCOUNTHLL",
    "COUNTDISTINCT": "DISTINCTCOUNTHLL",
    "PERCENTILE": "PERCENTILEEST or PERCENTILETDIGEST",
    "MEDIAN": "PERCENTILEEST or PERCENTILETDIGEST",
}
"""Functions whose intermediate results grow with the rows, and their bounded substitutes."""


@dataclass(frozen=True, slots=True)
class FunctionColumnPair:
    """One function of one column; the column of COUNT may be ``*``, which counts rows."""

    function: AggregationFunction
    column: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pair that ``FUNCTION__column`` names; the function's case does not matter.

        Raises ConfigError naming the pair and the rule that it breaks.
        """
        function, separator, column = text.partition(_SEPARATOR)
        if not separator or not column:
            raise ConfigError(
                f"functionColumnPairs: {text!r} is not FUNCTION__column, such as SUM__price or COUNT__*",
                setting="functionColumnPairs",
            )
        return cls.named(function, column)

    @classmethod
    def named(cls, function: str, column: str) -> Self:
        """Return the pair of a function's name and a column; raises ConfigError as in ``parse``."""
        asked = function.strip().upper().replace("_", "")
        pair = f"{function}{_SEPARATOR}{column}"
        plain = asked.rstrip("0123456789")
        if plain in BOUNDED_INSTEAD:
            raise ConfigError(
                f"functionColumnPairs: {pair}: the intermediate result of {asked} grows with the rows, so "
                f"that no star-tree can keep it; use the approximation {BOUNDED_INSTEAD[plain]}",
                setting="functionColumnPairs",
            )
        if asked not in AggregationFunction.__members__:
            raise ConfigError(
                f"functionColumnPairs: {pair}: {function!r} is no function of a star-tree; there are "
                + ", ".join(AggregationFunction.__members__),
                setting="functionColumnPairs",
            )
        if column == "*" and asked != "COUNT":
            raise ConfigError(
                f"functionColumnPairs: {pair}: only COUNT takes *; name the column of {asked}",
                setting="functionColumnPairs",
            )
        return cls(AggregationFunction(asked), column)

    @property
    def name(self) -> str:
        """Return the pair as Pinot writes it, ``SUM__price``."""
        return f"{self.function.value}{_SEPARATOR}{self.column}"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that a document keeps for it."""
        if self.column == "*":
            return (COUNT_ROWS,)
        return tuple(Measure.of(kind, self.column) for kind in _MEASURES[self.function])
