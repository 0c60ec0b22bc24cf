"""Sizes of indexes through a night: from segments to the report, and under a budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from settings_with import settings_with
from starskip.advisor.cost.index_sizes import sizes_of
from starskip.advisor.families.index import Index, parse_index

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "include" / "sample"
ADVICE = ("collect_segment_metadata", "parse_query_logs", "fit_latency_model", "score_votes")


def real_sizes(table: str) -> dict[Index, int]:
    found: dict[Index, int] = {}
    for path in (ROOT / "benchmarks" / "data" / "truth").glob(f"{table}*.json"):
        for name, size in json.loads(path.read_text())["index_bytes_all_segments"].items():
            found[parse_index(name) if ":" in name else Index("inverted", name)] = size
    return found


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, make_lab: Callable[..., Any]) -> Any:
    """The night of 2026-11-20 over all segments of the sample, up to its votes."""
    lab = make_lab(tmp_path_factory.mktemp("sizes"))
    lab.run(whole(lab), stages=ADVICE)
    return lab


def whole(lab: Any, **settings: Any) -> Any:
    """Without star-trees, which take long to choose: test_tree_choice has both under one budget."""
    small = {"window_rows_per_table": 2_048, "max_simulations_per_table": 300}
    return lab.night(
        log_paths=[str(SAMPLE / "logs" / "broker-2026-11-20.log.gz")],
        segments_root=str(SAMPLE / "segments"),
        settings=settings_with(index_kinds="inverted,range,sorted", **small, **settings),
    )


def published(lab: Any, artefact: str, table: str) -> pa.Table:
    snapshot = lab.night().store.snapshot(artefact, "2026-11-20")
    return snapshot.read_table([table])


@pytest.mark.parametrize("table", ["lineitem", "airlineStats"])
def test_a_night_knows_the_size_of_every_index_that_was_measured(scored: Any, table: str) -> None:
    rows = published(scored, "index_sizes", table)
    sizes, real = sizes_of(rows), real_sizes(table)
    # Columns that no query of the day filters on are known by the segments' metadata alone.
    read = {Index(row["kind"], row["column"]) for row in rows.to_pylist() if row["sampled_segments"]}
    assert len(read & real.keys()) >= len(real) - 2
    assert {item: sizes[item] for item in read & real.keys()} == {
        item: real[item] for item in read & real.keys()
    }
    assert real.keys() <= sizes.keys()


def test_the_report_tells_the_sizes_of_chosen_and_refused_indexes(scored: Any) -> None:
    scored.run(whole(scored), stages=("select_indexes", "write_report"))
    report = scored.report("lineitem")
    real = real_sizes("lineitem")
    shown = {
        Index(item["kind"], item["columns"][0]): item["size_bytes"]
        for item in [*report["chosen"], *report["refused"]]
    }
    assert report["chosen"]
    assert all(shown[item] == real[item] for item in real.keys() & shown.keys())
    assert report["summary"]["table_bytes"] == 20_093_570


@pytest.mark.parametrize("budget_bytes", [1, 86_443, 600_000, 1_200_000])
def test_the_chosen_indexes_fit_the_budget(scored: Any, budget_bytes: int) -> None:
    scored.run(whole(scored, index_budget_bytes=budget_bytes), stages=("select_indexes",))
    rows = published(scored, "recommendations", "lineitem").to_pylist()
    chosen = [row for row in rows if row["verdict"] == "chosen"]
    assert sum(row["size_bytes"] for row in chosen) <= budget_bytes
    assert bool(chosen) is (budget_bytes >= 600_000)
    assert any(row["reason"] == "over_storage_budget" for row in rows)


def test_some_segments_tell_the_sizes_of_all(scored: Any) -> None:
    night = whole(scored, max_sampled_segments=8)
    scored.run(night, stages=("score_votes",))
    rows = published(scored, "index_sizes", "airlineStats")
    assert max(rows["sampled_segments"].to_pylist()) == 8
    origin = Index("inverted", "Origin")
    assert sizes_of(rows)[origin] == pytest.approx(real_sizes("airlineStats")[origin], rel=0.01)
