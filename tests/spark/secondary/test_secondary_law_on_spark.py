"""Random tables, predicates and secondary indexes on real Spark: the same rows with the rule and without.

STARSKIP_SECONDARY_SPARK_CASES is how many predicates in all, STARSKIP_SECONDARY_SPARK_SEED where Hypothesis
begins.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from law_cases import law_cases
from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from skipping_on_spark.column_kinds import DERIVED
from skipping_on_spark.data_sets import DEPTH, ZONES, Example, data_sets
from skipping_on_spark.law_of_skipping import Seen, see
from skipping_on_spark.predicates import predicates
from skipping_tables import settings_of
from starskip.errors import ConfigError
from starskip.secondary import collect_entries
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.postings import PostingReader
from starskip.spark import skipping
from starskip.spark.skipping.table_finder import metadata_changed

CASES = law_cases("STARSKIP_SECONDARY_SPARK_CASES", 30)
SEED = int(os.environ.get("STARSKIP_SECONDARY_SPARK_SEED", random.SystemRandom().randrange(1 << 32)))
OF_AN_EXAMPLE = 20
TRIES = 5
FAULTS_SEED = 5
COSTS = (
    {"file_mib_ms": "1e9"},
    {"file_mib_ms": "500", "sampled_blocks": "1"},
    {"file_mib_ms": "10000"},
)
"""Settings by which all, few or most lists are read of files of a few KiB, which take no time to open."""
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900 + CASES)]


def create_secondary(spark: SparkSession, frame: DataFrame, folder: Path, indexes: Sequence[str]) -> None:
    """Create those of the indexes that the table can have, and now and then one that skips by bounds."""
    if len(indexes) % 2:
        skipping.create(spark, frame, ["minmax:i"])
    made = 0
    file_format = "orc" if any(folder.rglob("*.orc")) else None
    for each in indexes:
        try:
            create_indexes(str(folder), [each], file_format=file_format)
            made += 1
        except ConfigError:
            continue
    assert made
    metadata_changed()


@st.composite
def secondary_examples(draw: st.DrawFn, file_format: str) -> Example:
    data = draw(data_sets(file_format, DERIVED))
    possible = [f"{kind}:{name}" for name in data.kinds for kind in ("btree", "ngram")]
    chosen = [each for each in possible if draw(st.integers(0, 4)) < 3]
    zone = draw(st.sampled_from((data.zone, *ZONES)))
    questions = draw(st.lists(predicates(data, DEPTH, ()), min_size=OF_AN_EXAMPLE, max_size=OF_AN_EXAMPLE))
    return Example(data, ("btree:i", *chosen), zone, tuple(questions))


def law(spark: SparkSession, folder: Path, cases: int, begin: int, file_format: str = "parquet") -> Seen:
    """Raise AssertionError at the first example that breaks the law; return what was seen of all."""
    total = Seen()

    def holds(example: Example) -> None:
        costs = COSTS[total.cases // OF_AN_EXAMPLE % len(COSTS)]
        with settings_of(spark, {f"spark.starskip.secondary.{name}": each for name, each in costs.items()}):
            seen = see(spark, folder / f"table-{total.cases}", example, create_secondary)
        total.add(seen)
        case = f"seed {begin}, asked in {example.zone}: {example.indexes}, {costs}"
        assert not seen.broken, (case, seen.broken[:5])

    examples = -(-cases // OF_AN_EXAMPLE)
    some = settings(max_examples=examples, database=None, phases=(Phase.generate,))
    seed(begin)(some(given(secondary_examples(file_format))(holds)))()
    return total


@pytest.mark.law
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_no_row_is_missed(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    print(f"STARSKIP_SECONDARY_SPARK_SEED={SEED}")
    cases = CASES if file_format == "parquet" else -(-CASES // 3)
    seen = Seen()
    for begin in range(SEED, SEED + TRIES):
        seen.add(law(spark, tmp_path / str(begin), cases, begin, file_format))
        # A law by which no file is left alone says nothing: of one table that may be so by chance.
        if seen.skipped > seen.files // 100:
            break
    print(f"{seen.cases} predicates with {seen.rows} rows, {seen.skipped} of {seen.files} files left alone")
    assert seen.skipped > seen.files // 100


def _positions_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = collect_entries.addresses_of
    monkeypatch.setattr(collect_entries, "addresses_of", lambda file, rows: sound(file + (file == 0), rows))


def _entries_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rows(reader: PostingReader, path: Path) -> dict[str, BitMap64]:
        del path
        return {segment.name: BitMap64() for segment in reader.segments}

    monkeypatch.setattr(PostingReader, "rows", no_rows)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_positions_shifted, _entries_left_out])
def test_a_planted_fault_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="are missing"):
        law(spark, tmp_path, 100, FAULTS_SEED)
