"""The law of engines: every stage publishes on executors what it publishes in one process."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.stage_functions import stage_function
from starskip.spark.spark_engine import SparkEngine

pytestmark = pytest.mark.spark

ROWS = (
    "table_facts",
    "damaged_segments",
    "queries",
    "rejected_records",
    "latency_bins",
    "workload",
    "index_sizes",
    "votes",
    "recommendations",
    "star_tree_builds",
    "verdicts",
)
UNLIKE = {"star_tree_builds": {"size_bytes"}, "verdicts": {"tree_ms", "scan_ms"}}
"""Sketches throw dice, and times are what they are."""
SAMPLE = Path(__file__).parents[2] / "include" / "sample"
LAKE_FILES = 24
"""A quarter of the sample's rows, on several tasks."""


@pytest.fixture(scope="module")
def nights(
    spark: SparkSession,
    sample_lake: Path,
    sample_casts: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Night]:
    """The same night, run without and with Spark; each stage's counts must be the same too."""
    folder = tmp_path_factory.mktemp("nights")
    lake = folder / "lake" / "lineitem"
    lake.mkdir(parents=True)
    for file in sorted(sample_lake.iterdir())[:LAKE_FILES]:
        shutil.copy2(file, lake)
    engines: dict[str, Engine] = {"local": LocalEngine(), "spark": SparkEngine(spark)}
    counts: dict[str, list[Mapping[str, int]]] = {name: [] for name in engines}
    found = {}
    for name, engine in engines.items():
        config = folder / f"{name}.yaml"
        config.write_text(
            f"store: {{artefacts: {name}}}\nsources:\n"
            f"  log_paths: ['{SAMPLE}/logs']\n  segments_root: '{SAMPLE}/segments'\n"
            f"  table_configs: ['{SAMPLE}/config/airlineStats_table.json']\n"
            f"  lake_tables: {{lineitem: {{path: '{lake}', casts: {sample_casts}}}}}\n"
            # The law is the same of fewer rows and simulations.
            "settings: {scoring: {window_rows_per_table: 2048, max_simulations_per_table: 300}}\n"
        )
        started_at = datetime(2026, 11, 21, 2, tzinfo=UTC)
        found[name] = night_from_config(config, NightArguments(date(2026, 11, 20), "test", started_at), {})
        counts[name] = [stage_function(stage.name)(engine, found[name]).counts for stage in STAGES]
    assert counts["spark"] == counts["local"]
    return found


@pytest.mark.parametrize("artefact", ROWS)
def test_rows_are_the_same_without_and_with_spark(nights: dict[str, Night], artefact: str) -> None:
    local, spark = (
        [
            {name: row[name] for name in row.keys() - UNLIKE.get(artefact, set())}
            for row in _rows(nights[engine], artefact)
        ]
        for engine in ("local", "spark")
    )
    assert local or artefact == "damaged_segments"
    assert len(spark) == len(local)
    _assert_same(spark, local, artefact)


@pytest.mark.parametrize("artefact", ["queries", "latency_model", "recommendations"])
def test_properties_are_the_same_without_and_with_spark(nights: dict[str, Night], artefact: str) -> None:
    local, spark = (_properties(nights[name], artefact) for name in ("local", "spark"))
    assert local
    _assert_same(spark, local, artefact)


def test_reports_say_the_same_without_and_with_spark(nights: dict[str, Night]) -> None:
    local, spark = (_markdown(nights[name]) for name in ("local", "spark"))
    assert sorted(local) == ["airlineStats", "lineitem"]
    assert spark == local


def _rows(night: Night, artefact: str) -> list[dict[str, Any]]:
    snapshot = night.store.snapshot(artefact, night.date_text)
    assert snapshot is not None
    return sorted(snapshot.read_table().to_pylist(), key=_sort_key)


def _sort_key(row: Mapping[str, Any]) -> str:
    """Floats take no part, since their last digits depend on the order of additions."""
    return repr([(name, value) for name, value in row.items() if not isinstance(value, float)])


def _properties(night: Night, artefact: str) -> dict[str, Any]:
    snapshot = night.store.snapshot(artefact, night.date_text)
    assert snapshot is not None
    # Quantiles come from a sketch that throws dice: they are held to its error elsewhere.
    return {
        table: {name: value for name, value in part.properties.items() if name != "quantiles"}
        for table, part in snapshot.parts().items()
    }


def _markdown(night: Night) -> dict[str, str]:
    snapshot = night.store.snapshot("reports", night.date_text)
    assert snapshot is not None
    texts = {}
    for table, part in snapshot.parts().items():
        (file,) = [file for file in part.files if file.name.endswith("report.md")]
        lines = snapshot.read_file(file).decode().splitlines()
        # Quantiles and sizes of sketches throw dice, and times are what they are.
        varying = ("ercentile", " ms |", " built: ")
        texts[table] = "\n".join(line for line in lines if not any(word in line for word in varying))
    return texts


def _assert_same(found: Any, expected: Any, place: str) -> None:
    if isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), place
    elif isinstance(expected, Mapping):
        assert found.keys() == expected.keys(), place
        for name, value in expected.items():
            _assert_same(found[name], value, f"{place}.{name}")
    elif isinstance(expected, Sequence) and not isinstance(expected, str | bytes):
        assert len(found) == len(expected), place
        for position, value in enumerate(expected):
            _assert_same(found[position], value, f"{place}[{position}]")
    else:
        assert found == expected, place
