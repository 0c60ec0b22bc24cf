"""More shapes than are kept: the same ones stay on executors as in one process."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.advisor.workload import busy_keys as of_busy
from starskip.advisor.workload.busy_keys import busy_keys
from starskip.advisor.workload.key_sums import KEYED_BY
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.night.collect_segment_metadata import collect_segment_metadata
from starskip.night.parse_query_logs import parse_query_logs
from starskip.night.score_votes import score_votes
from starskip.spark.spark_engine import SparkEngine
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
TABLES = ("airlineStats", "lineitem")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    """A night with its queries in several files."""
    found = Night(
        run_date=date(2026, 11, 20),
        store=ArtefactStore(storage_for(str(tmp_path_factory.mktemp("night")))),
        settings=settings_with(
            max_shapes_per_table=4, window_rows_per_table=2_048, max_simulations_per_table=300
        ),
        started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_id="test",
        log_paths=[str(SAMPLE / "logs")],
        segments_root=str(SAMPLE / "segments"),
    )
    collect_segment_metadata(LocalEngine(), found)
    parse_query_logs(LocalEngine(), found)
    return found


def test_the_same_shapes_stay(spark: SparkSession, night: Night) -> None:
    told: list[tuple[Any, ...]] = []
    for engine in (LocalEngine(), SparkEngine(spark)):
        result = score_votes(engine, night)
        workload = night.store.snapshot("workload", night.date_text)
        assert workload is not None
        rows = sorted(
            workload.read_table(TABLES).to_pylist(), key=lambda row: (row["table"], row["shape_id"])
        )
        told.append((rows, result.counts, result.warnings))
    assert told[0] == told[1]
    rows, counts, warnings = told[0]
    assert counts["shapes"] == len(rows) == 2 * (4 + 1)
    assert [words.partition(":")[0] for words in warnings] == list(TABLES)
    assert sum(row["shape_id"] == "unparsed:too_many_shapes" for row in rows) == 2


@pytest.mark.parametrize("max_keys", [16, 1 << 20])
def test_the_same_keys_stay_whatever_can_be_held(
    spark: SparkSession, night: Night, max_keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_busy, "MAX_KEYS", max_keys)
    queries = night.store.snapshot("queries", night.date_text)
    assert queries is not None
    engines: list[Engine] = [LocalEngine(), SparkEngine(spark)]
    local, on_spark = (busy_keys(engine.rows_of_snapshot(queries, TABLES, KEYED_BY), 4) for engine in engines)
    assert sorted(local) == sorted(on_spark) == list(TABLES)
    for table, keys in local.items():
        other = on_spark[table]
        assert keys.prefixes.tolist() == other.prefixes.tolist()
        assert (keys.keys, keys.left_out_entries) == (other.keys, other.left_out_entries)
        assert keys.is_counted == other.is_counted == (max_keys > 16)
