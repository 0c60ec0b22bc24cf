"""Random data sets, predicates and index sets, each held to the law of skipping on real Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, seed, settings
from pyspark.sql import SparkSession
from skipping_on_spark.data_sets import Example, examples
from skipping_on_spark.law_of_skipping import Seen, see

SHRINK = bool(os.environ.get("STARSKIP_SKIPPING_SHRINK"))
DRAWN_ANEW = 10
"""Examples: of later ones Hypothesis varies each some times, most of which would be the same data again."""


def law(
    spark: SparkSession,
    folder: Path,
    cases: int,
    file_format: str,
    begin: int,
    *,
    of_an_example: int,
    **drawn: Any,
) -> Seen:
    """Raise AssertionError at the first example that breaks the law; return what was seen of all."""
    total = Seen()
    of_one = min(cases, of_an_example)
    phases = (Phase.generate, Phase.shrink) if SHRINK else (Phase.generate,)

    def holds(example: Example) -> None:
        seen = see(spark, folder / f"table-{total.cases}", example)
        total.add(seen)
        indexes = f"indexes made in {example.data.zone}, asked in {example.zone}: {example.indexes}"
        assert not seen.broken, (f"seed {begin}, {file_format}, {indexes}", seen.broken[:5])

    left = -(-cases // of_one)
    while left > 0:
        some = settings(max_examples=min(left, DRAWN_ANEW), database=None, phases=phases)
        seed(begin + left)(some(given(examples(file_format, of_one, **drawn))(holds)))()
        left -= DRAWN_ANEW
    return total
