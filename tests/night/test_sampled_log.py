"""Advice from the log of a broker that dropped lines, against advice from all that it ran."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.selection.tune_tables import TuneRequest, tune_tables

pytestmark = pytest.mark.slow

ROWS = 299_814
QUICK, SLOW = (
    f"SELECT COUNT(*) FROM lineitem WHERE {column} = {{}}" for column in ("l_suppkey", "l_partkey")
)


@pytest.fixture(scope="module")
def broker() -> ModuleType:
    path = Path(__file__).parents[1] / "pinot" / "logs" / "simulated_broker.py"
    spec = importlib.util.spec_from_file_location("simulated_broker", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def queries(broker: ModuleType, seed: int) -> list[Any]:
    """Quick queries scan three times what the slow ones do, and there are 60 times as many."""

    def draw(randoms: random.Random, second: float) -> Any:
        if randoms.random() < 60 / 61:
            literal, latency_ms, entries, sql = randoms.randint(1, 500), randoms.randint(2, 40), ROWS, QUICK
        else:
            literal, latency_ms, entries, sql = randoms.randint(1, 9_000), 1_500, 20 * ROWS, SLOW
        return broker.Query(second, latency_ms, sql.format(literal), entries, "lineitem")

    found: list[Any] = broker.poisson_queries(seed, 40, lambda second: 100, draw)
    return found


def advice(folder: Path, small_store: Path, lines: list[str]) -> tuple[Any, tuple[str, ...]]:
    path = folder / "broker.log"
    path.write_text("".join(lines))
    settings = settings_with(
        max_indexes=1,
        min_gain_ratio=0.0,
        unit="entries",
        window_rows_per_table=2_048,
        max_simulations_per_table=300,
    )
    request = TuneRequest(
        [str(path)], str(small_store / "segments"), ["lineitem"], {}, families_named("inverted"), settings
    )
    answer = tune_tables(request, lambda what, items: items)
    (of_table,) = answer.tables
    return of_table, answer.warnings


def test_corrected_advice_is_that_of_the_whole_workload_and_uncorrected_is_not(broker, tmp_path, small_store):
    for seed in range(3):
        ran = queries(broker, seed)
        whole, _ = advice(tmp_path, small_store, broker.Broker(max_per_second=10_000).run(ran))
        limited = broker.Broker(max_per_second=8)
        lines = limited.run(ran)
        corrected, warnings = advice(tmp_path, small_store, lines)
        raw, no_warnings = advice(tmp_path, small_store, [line for line in lines if "dropped" not in line])

        def chosen(of_table: Any) -> list[str]:
            return [item.index.column for item in of_table.recommendation.chosen]

        assert chosen(corrected) == chosen(whole) == ["l_suppkey"]
        assert chosen(raw) == ["l_partkey"]
        assert corrected.recommendation.saving.ratio == pytest.approx(
            whole.recommendation.saving.ratio, abs=0.05
        )
        assert raw.log.queries == corrected.log.queries == sum("requestId" in line for line in lines)
        assert corrected.log.unlogged_queries == pytest.approx(limited.said, rel=0.01)
        # The last moment's are missing: the broker had no line to say them behind.
        said = whole.log.queries - limited.dropped
        assert corrected.log.queries + corrected.log.unlogged_queries == pytest.approx(said, rel=0.01)
        assert corrected.log.entries + corrected.log.unlogged_entries == pytest.approx(
            whole.log.entries, rel=0.05
        )
        assert corrected.recommendation.saving.low < corrected.recommendation.saving.high
        assert f"the broker dropped {limited.said:,} log lines" in warnings[0]
        assert no_warnings == ()


def test_the_interval_of_a_sample_is_wider_than_that_of_the_whole(broker, tmp_path, small_store):
    ran = queries(broker, 0)
    whole, _ = advice(tmp_path, small_store, broker.Broker(max_per_second=10_000).run(ran))
    corrected, _ = advice(tmp_path, small_store, broker.Broker(max_per_second=8).run(ran))
    width = [a.recommendation.saving.high - a.recommendation.saving.low for a in (whole, corrected)]
    assert width[1] > width[0]


def test_a_night_says_what_was_dropped_and_counts_records_as_records(broker, lab):
    lines = broker.Broker(max_per_second=8).run(queries(broker, 0))
    lab.log(*[line.replace("2026/11/18", "2026/11/20") for line in lines], name="busy.log")
    lab.run(stages=STAGE_NAMES)
    logged = sum("requestId" in line for line in lines)
    quality, summary = lab.report("lineitem")["data_quality"], lab.report("lineitem")["summary"]
    assert summary["queries"] == 896 + logged
    assert quality["dropped_log_lines"] > 2_000
    assert quality["unlogged_queries"] == pytest.approx(quality["dropped_log_lines"])
    assert quality["sampled_queries"] < logged
    assert "the broker dropped" in lab.warnings
    night = lab.night()
    shapes = night.store.snapshot("workload", night.date_text).read_table(["lineitem"]).to_pylist()
    assert sum(row["queries"] for row in shapes) == 896 + logged
    assert sum(row["unlogged_queries"] for row in shapes) == pytest.approx(quality["unlogged_queries"])
    other = night.store.snapshot("workload", night.date_text).read_table(["airlineStats"]).to_pylist()
    assert {row["unlogged_queries"] for row in other} == {0.0}


def test_a_log_in_which_nothing_was_dropped_gives_bitwise_the_same_advice(lab, sound):
    """A broker that says nothing of dropped lines, or a server that does."""
    server = "2026/11/20 10:00:00.000 INFO [QueryScheduler] [pqr-1] 99 logs were dropped. (log max rate)\n"
    lab.log(server, "2026/11/20 10:00:00.000 WARN [QueryLogger] [t] 0 logs were dropped. (log max rate)\n")
    lab.run(stages=STAGE_NAMES[:-1])
    assert lab.published("recommendations") == sound
