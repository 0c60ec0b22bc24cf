"""Samples of a lake table's rows on executors equal those of one process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from starskip.advisor.families.star_tree.recommend import lake_sample as module
from starskip.advisor.families.star_tree.recommend import lake_sample as of_samples
from starskip.advisor.families.star_tree.recommend.lake_sample import lake_sample
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.errors import StarskipError
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.spark.spark_engine import SparkEngine
from starskip.star_tree.build.source_table import source_table
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

USED = [frozenset({"shop", "kind", "day"}), frozenset({"amount"})]


def write_rows(path: Path, seed: int, kinds: pa.DataType | None = None) -> None:
    drawn = np.random.default_rng(seed)
    count = 6_000
    rows = pa.table(
        {
            "shop": pa.array([f"shop {number}" for number in drawn.geometric(0.01, count)]),
            "kind": pa.array(drawn.integers(0, 4, count)).cast(kinds or pa.int64()),
            "day": pa.array(drawn.integers(0, 300, count), pa.int32()).cast(pa.date32()),
            "amount": pa.array(drawn.integers(1, 1_000, count)),
        }
    )
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path, row_group_size=1_000)


def sampled(engine: Engine, folder: Path, tasks: list[tuple[str, int]]) -> TableSample:
    store = ArtefactStore(storage_for(str(folder / "store")))

    def told(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        tasks.append((label, len(items)))
        if isinstance(engine, SparkEngine):
            engine.session.sparkContext.setJobGroup(f"sampling {len(tasks)}", label)
        return EngineTasks(engine).run_tasks(label, items, function)

    aside = store.staged_write("recommendations", "2026-11-20")
    source = source_table(str(folder / "table"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of_samples, "_ROWS_PER_TASK", 1_500)
            return lake_sample(told, aside, "t", source, USED, {"amount"})
    finally:
        assert list(store.storage.objects_below("")) == []


def content(sample: TableSample) -> list[Any]:
    """Return all that is in a sample, in its order."""
    (part,) = sample.parts
    assert part.rows is not None
    told: list[Any] = [sample.rows, part.rows.columns.to_pylist(), part.cuboids.values]
    told.append({name: codes.tolist() for name, codes in part.rows.codes.items()})
    for of in (frozenset(names) for names in (("shop", "kind", "day"), ("shop", "day"), ("kind",))):
        found = part.cuboids.combinations(of)
        codes = {name: column.tolist() for name, column in found.codes.items()}
        told.append([found.kept_ratio, codes, found.rows.tolist()])
    return told


def test_a_sample_of_executors_is_that_of_one_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EXACT_COMBINATIONS", 1_000)
    monkeypatch.setattr(module, "_SAMPLED_COMBINATIONS", 500)
    monkeypatch.setattr(module, "_SAMPLED_ROWS", 300)
    for number in range(3):
        write_rows(tmp_path / "table" / f"{number}.parquet", number)
    rounds: dict[str, list[tuple[str, int]]] = {"local": [], "spark": []}
    local = sampled(LocalEngine(), tmp_path, rounds["local"])
    found = sampled(SparkEngine(spark), tmp_path, rounds["spark"])
    assert content(found) == content(local)
    assert found.parts[0].cuboids.combinations(USED[0]).kept_ratio < 1
    assert rounds["spark"] == rounds["local"]
    assert rounds["spark"] == [("sampling rows", 9), ("merging samples", 2), ("merging samples", 1)]
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("sampling 1")]
    stages = [tracker.getStageInfo(stage) for info in infos if info for stage in info.stageIds]
    # On two cores, four tasks a core.
    assert max(stage.numTasks for stage in stages if stage) == 8


def test_a_bad_file_on_an_executor_is_one_line_that_names_it(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_rows(tmp_path / "table" / "0.parquet", 0)
    write_rows(tmp_path / "table" / "1.parquet", 1, kinds=pa.string())
    caplog.set_level(logging.CRITICAL)
    with pytest.raises(
        StarskipError, match=r"1\.parquet: column kind: is string and does not fit int64"
    ) as told:
        sampled(SparkEngine(spark), tmp_path, [])
    assert "\n" not in str(told.value)
