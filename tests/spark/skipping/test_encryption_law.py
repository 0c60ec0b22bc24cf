"""The law of skipping with keys: no row is missed, whichever keys a reader has.

STARSKIP_SKIPPING_KEY_CASES is how many predicates in all, STARSKIP_SKIPPING_SEED where Hypothesis begins.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from law_cases import law_cases
from pyspark.sql import DataFrame, SparkSession
from skipping_on_spark.data_sets import Example, examples
from skipping_on_spark.law_of_skipping import Seen, see
from starskip.spark import skipping

CASES = law_cases("STARSKIP_SKIPPING_KEY_CASES", 30)
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900 + CASES)]

SEED = int(os.environ.get("STARSKIP_SKIPPING_SEED", random.SystemRandom().randrange(1 << 32)))
OF_AN_EXAMPLE = max(15, min(100, CASES // 20))
DRAWN_ANEW = 10
NAMES = ("here", "missing", "wrong", "")
"""Keys that the reader has, lacks, has another of; and no encryption."""


@pytest.mark.law
def test_no_row_is_missed_whichever_keys_there_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    writers = {}
    for name in NAMES[:-1]:
        writers[name] = tmp_path / f"{name}.key"
        writers[name].write_bytes(name.encode().ljust(32))
    readers = tmp_path / "keys"
    readers.mkdir()
    (readers / "here").write_bytes(writers["here"].read_bytes())
    (readers / "wrong").write_bytes(b"w" * 32)
    monkeypatch.setenv("STARSKIP_KEYS_DIR", str(readers))
    total = Seen()

    def holds(example: Example, keys: Sequence[str], listing: str) -> None:
        chosen = dict(zip(example.indexes, keys, strict=False))
        encrypt = {index: name for index, name in chosen.items() if name}

        def create(spark: SparkSession, frame: DataFrame, _: Path, indexes: Sequence[str]) -> None:
            skipping.create(
                spark,
                frame,
                list(indexes),
                keys={name: str(path) for name, path in writers.items()},
                encrypt=encrypt,
                encrypt_listing=listing or None,
            )

        seen = see(spark, tmp_path / f"table-{total.cases}", example, create)
        total.add(seen)
        assert not seen.broken, (f"seed {SEED}", encrypt, listing, seen.broken[:5])

    strategies = (
        examples("parquet", OF_AN_EXAMPLE),
        st.lists(st.sampled_from(NAMES), min_size=100, max_size=100),
        st.sampled_from(("", "here", "", "here", "missing")),
    )
    left = -(-CASES // OF_AN_EXAMPLE)
    while left > 0:
        some = settings(max_examples=min(left, DRAWN_ANEW), database=None, phases=(Phase.generate,))
        seed(SEED + left)(some(given(*strategies)(holds)))()
        left -= DRAWN_ANEW
    print(
        f"{total.cases} predicates with {total.rows} rows, {total.skipped} of {total.files} files skipped; "
        f"Spark's reader and its expressions differ at {total.differences}"
    )
    if CASES >= 300:
        assert total.skipped > total.files // 20
