"""Random data sets, predicates and index sets on real Spark: the same rows with skipping and without.

STARSKIP_SKIPPING_CASES is how many predicates in all, STARSKIP_SKIPPING_SEED where Hypothesis begins; with
STARSKIP_SKIPPING_SHRINK it takes some minutes more to make what fails small.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from law_cases import law_cases
from pyspark.sql import SparkSession
from skipping_on_spark.data_set import FORMATS
from skipping_on_spark.drawn_examples import law
from skipping_on_spark.predicates import Leaf, comparison, null_test
from starskip.predicates.comparison import ComparisonOperator
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.skipping.index_types.null_count import NullClause
from starskip.skipping.value_sets import ValueSetClause

CASES = law_cases("STARSKIP_SKIPPING_CASES", 120)
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900 + CASES)]

SEED = int(os.environ.get("STARSKIP_SKIPPING_SEED", random.SystemRandom().randrange(1 << 32)))
OF_AN_EXAMPLE = max(15, min(100, CASES // 40))
FAULTS_SEED = 3
_FLIPPED = {
    ComparisonOperator.ABOVE: ComparisonOperator.BELOW,
    ComparisonOperator.BELOW: ComparisonOperator.ABOVE,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_MOST,
}


@pytest.mark.law
@pytest.mark.parametrize(
    "file_format",
    [pytest.param(each, marks=() if each == "parquet" else pytest.mark.slow) for each in FORMATS],
)
def test_no_row_is_missed(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    seen = law(spark, tmp_path, CASES // len(FORMATS), file_format, SEED, of_an_example=OF_AN_EXAMPLE)
    print(
        f"{file_format}: {seen.cases} predicates with {seen.rows} rows, {seen.skipped} of {seen.files} files "
        f"skipped; Spark's reader and its expressions differ at {seen.differences}"
    )
    # A law that skips nothing says nothing.
    assert seen.skipped > seen.files // 20


def flip_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    right = MinMaxClause.may_match

    def flipped(clause: MinMaxClause, metadata: FileMetadata) -> Mask:
        operator = _FLIPPED.get(clause.comparison.operator, clause.comparison.operator)
        return right(replace(clause, comparison=replace(clause.comparison, operator=operator)), metadata)

    monkeypatch.setattr(MinMaxClause, "may_match", flipped)


def forget_nulls(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NullClause.may_match

    def forgetful(clause: NullClause, metadata: FileMetadata) -> Mask:
        return right(replace(clause, of_null=False), metadata)

    monkeypatch.setattr(NullClause, "may_match", forgetful)


def lose_the_last_file(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ValueSetClause.may_match

    def losing(clause: ValueSetClause, metadata: FileMetadata) -> Mask:
        found = right(clause, metadata).copy()
        found[-1:] = False
        return found

    monkeypatch.setattr(ValueSetClause, "may_match", losing)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "kind", "leaf"),
    [
        (flip_comparisons, "minmax", comparison),
        (forget_nulls, "nulls", null_test),
        (lose_the_last_file, "valuelist", comparison),
    ],
)
def test_a_fault_is_seen(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[pytest.MonkeyPatch], None],
    kind: str,
    leaf: Leaf,
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="are missing"):
        law(
            spark,
            tmp_path,
            60,
            "parquet",
            FAULTS_SEED,
            of_an_example=OF_AN_EXAMPLE,
            kind=kind,
            leaves=(leaf,),
        )
