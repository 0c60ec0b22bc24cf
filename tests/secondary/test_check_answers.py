"""Answers of indexes held against a scan: right ones agree on random predicates, a planted fault is named."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from law_cases import law_cases
from secondary_tables import CLOCK, Random, random_table, small_blocks
from starskip.predicates.expression import Expression
from starskip.secondary import access_paths
from starskip.secondary.check_answers import UnlikeScan, check_answers
from starskip.secondary.key_ranges import KeyRanges
from starskip.secondary.lifecycle import create_indexes

CASES = law_cases("STARSKIP_SECONDARY_CHECKS", 2)
SEED = int(os.environ["STARSKIP_SECONDARY_SEED"])
INDEXES = ("btree:n", "ngram:s", "rtree:lat,lng")


@pytest.mark.law
@pytest.mark.parametrize("number", range(CASES))
def test_sound_indexes_answer_as_a_scan_does(tmp_path: Path, number: int) -> None:
    seed = SEED + number
    with small_blocks(Random(seed)):
        table = random_table(tmp_path, seed)
        assert check_answers(str(tmp_path), predicates=25, seed=seed).predicates == 25
        table.change()
        check_answers(str(tmp_path), predicates=25, seed=seed)


def written(folder: Path) -> None:
    for number in range(2):
        rng = np.random.default_rng(number)
        few = rng.integers(0, 9, 50)
        columns = {
            "n": pa.array(few, mask=few == 3),
            "s": [f"text {each}" for each in few],
            "lat": rng.uniform(-9, 9, 50),
            "lng": rng.uniform(-9, 9, 50),
        }
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))


def test_each_index_is_asked_and_files_without_index_are_named(tmp_path: Path) -> None:
    written(tmp_path)
    create_indexes(str(tmp_path), INDEXES, clock=CLOCK)
    pq.write_table(pa.table({"n": [1], "s": ["new"], "lat": [1.0], "lng": [2.0]}), tmp_path / "2.parquet")
    found = check_answers(str(tmp_path), predicates=30, seed=3)
    assert found.predicates == 30 and all(found.asked[each] for each in INDEXES), found.asked
    assert [Path(each).name for each in found.beside] == ["2.parquet"]


def test_bounds_that_are_off_by_one_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    create_indexes(str(tmp_path), ["btree:n"], clock=CLOCK)
    sound = access_paths.key_ranges

    def lossy(predicate: Expression, path: tuple[str, ...]) -> KeyRanges | None:
        found = sound(predicate, path)
        if found is None:
            return None
        open_ended = (replace(each, high_included=each.is_point) for each in found.ranges)
        return KeyRanges(tuple(open_ended))

    monkeypatch.setattr(access_paths, "key_ranges", lossy)
    with pytest.raises(UnlikeScan, match=r"^btree:n.*: finds .* rows, a scan .* WHERE .*`n`"):
        check_answers(str(tmp_path), predicates=100, seed=4)
