"""Random tables, predicates and index sets on real Spark: the same rows with skipping and without.

STARSKIP_SKIPPING_CASES is how many predicates in all, STARSKIP_SKIPPING_SEED where they begin.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from skipping_on_spark.law_of_skipping import Seen, see_table
from skipping_on_spark.random_table import FORMATS
from starskip.skipping.comparison import Operator
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.skipping.index_types.null_count import NullClause
from starskip.spark import skipping

pytestmark = pytest.mark.spark

CASES = int(os.environ.get("STARSKIP_SKIPPING_CASES", "100"))
SEED = int(os.environ.get("STARSKIP_SKIPPING_SEED", random.SystemRandom().randrange(1 << 32)))
FAULTS_SEED = 3
_FLIPPED = {
    Operator.ABOVE: Operator.BELOW,
    Operator.BELOW: Operator.ABOVE,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
OF_A_TABLE = max(25, min(100, CASES // 8))


@pytest.fixture(autouse=True)
def off_afterwards(spark: SparkSession) -> Iterator[None]:
    yield
    skipping.disable(spark)


def see(spark: SparkSession, folder: Path, seed: int, cases: int) -> Seen:
    total = Seen()
    for number in range(-(-cases // OF_A_TABLE)):
        of_table = see_table(spark, folder, seed + number, OF_A_TABLE, FORMATS[number % len(FORMATS)])
        total.cases += of_table.cases
        total.files += of_table.files
        total.skipped += of_table.skipped
        total.broken += of_table.broken
    return total


def test_no_row_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    seen = see(spark, tmp_path, SEED, CASES)
    print(f"{seen.cases} predicates, {seen.skipped} of {seen.files} files skipped")
    assert not seen.broken, (SEED, seen.broken[:5])
    # A law that skips nothing says nothing.
    assert seen.skipped > seen.files // 20


def test_a_flipped_comparison_is_seen(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = MinMaxClause.may_match

    def flipped(clause: MinMaxClause, metadata: FileMetadata) -> Mask:
        operator = _FLIPPED.get(clause.comparison.operator, clause.comparison.operator)
        return right(replace(clause, comparison=replace(clause.comparison, operator=operator)), metadata)

    monkeypatch.setattr(MinMaxClause, "may_match", flipped)
    assert see_table(spark, tmp_path, FAULTS_SEED, 60, "parquet", kind="minmax", depth=1).broken


def test_a_forgotten_null_is_seen(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = NullClause.may_match

    def forgetful(clause: NullClause, metadata: FileMetadata) -> Mask:
        return right(replace(clause, of_null=False), metadata)

    monkeypatch.setattr(NullClause, "may_match", forgetful)
    assert see_table(spark, tmp_path, FAULTS_SEED, 60, "parquet", kind="nulls", depth=1).broken
