from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.execution.local_engine import LocalEngine
from starskip.night.collect_segment_metadata import collect_segment_metadata
from starskip.night.fit_latency_model import fit_latency_model
from starskip.night.parse_query_logs import parse_query_logs
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

Call = Callable[..., Any]

RANKS = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.95", "0.99"]
HEAD = "2026/11/18 08:00:00.000 INFO [BaseBrokerRequestHandler] [t] "
LINE = (
    "requestId={n},table=t,timeMs={ms},docs=1/9,entries={entries}/{post},segments(queried/processed/matched/"
    "consuming/unavailable):4/4/4/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,"
    "brokerReduceTimeMs=0,exceptions=0,serverStats=x,query=SELECT COUNT(*) FROM t WHERE a = {n}\n"
)


@pytest.fixture
def linear_log(tmp_path: Path) -> Path:
    """Queries that take 5 ms and 10 ms a million entries in filter."""
    rows = ((n, 40_000 * n, n % 97) for n in range(1, 501))
    lines = (
        LINE.format(n=n, ms=5 + entries // 100_000, entries=entries, post=post) for n, entries, post in rows
    )
    path = tmp_path / "linear.log"
    path.write_text("".join(HEAD + line for line in lines))
    return path


def test_the_document(call: Call, linear_log: Path) -> None:
    result = call("quantile-report", "--log", linear_log, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    (table,) = json.loads(result.stdout)["tables"].items()
    name, report = table
    assert (name, report["queries"]) == ("t", 500)
    assert list(report) == ["queries", "quantiles", "model", "maximum_optimization_ms"]
    for measure in ("latency_ms", "entries_scanned_in_filter", "entries_scanned_post_filter"):
        assert list(report["quantiles"][measure]) == RANKS
    assert report["quantiles"]["entries_scanned_in_filter"]["0.5"] == pytest.approx(40_000 * 250, abs=40_000)
    model = report["model"]
    assert (model["trusted"], model["reason"], model["threshold"]) == (True, None, 0.7)
    assert model["alpha_ms"] == pytest.approx(1e-5, rel=0.02)
    assert report["maximum_optimization_ms"]["0.9"] == pytest.approx(180, rel=0.03)


def test_text_is_for_people(call: Call, linear_log: Path) -> None:
    result = call("EntriesScannedQuantileReport", "-log", linear_log, "-tables", "t")
    first, head, *rows, model, fit = result.stdout.splitlines()
    assert first == "t: 500 queries"
    assert head.split() == ["queries", "in", "filter", "post", "filter", "latency", "could", "win", "entries",
                            "in", "filter"]  # fmt: skip
    assert [row.split()[0] for row in rows] == [f"{100 * float(rank):g}%" for rank in RANKS]
    assert rows[4].split()[1] in ("10,000,000", "10,040,000")
    bars = [row.count("█") for row in rows]
    assert bars == sorted(bars)
    assert bars[-1] == 24
    assert model.startswith("  latency = ")
    assert "trusted from 0.7" in fit


def test_a_table_that_no_model_explains(call: Call, logs: Path) -> None:
    result = call("quantile-report", "--log", logs / "broker-2026-11-18.log.gz", "--tables", "lineitem")
    assert "could win" not in result.stdout
    refusal, meaning = result.stdout.splitlines()[-2:]
    assert refusal.startswith(
        "  unable to predict the optimization boundary of this table: entries scanned explain too little"
    )
    assert meaning.startswith("  entries scanned are not time")


def test_the_figures_are_those_of_the_nights_artefact(
    call: Call, logs: Path, deep_store: Path, tmp_path: Path
) -> None:
    log = logs / "broker-2026-11-18.log.gz"
    night = Night(
        run_date=date(2026, 11, 18),
        store=ArtefactStore(LocalStorage(tmp_path)),
        settings=Settings(),
        started_at=datetime(2026, 11, 19, tzinfo=UTC),
        run_id="test",
        log_paths=[str(log)],
        segments_root=str(deep_store),
    )
    for stage in (collect_segment_metadata, parse_query_logs, fit_latency_model):
        stage(LocalEngine(), night)
    snapshot = night.store.snapshot("latency_model", "2026-11-18")
    assert snapshot is not None
    tables = json.loads(call("quantile-report", "--log", log, "--format", "json").stdout)["tables"]
    assert list(tables) == ["airlineStats", "lineitem"]
    for table, part in snapshot.parts().items():
        report, published = tables[table], part.properties
        assert report["quantiles"] == published["quantiles"]
        assert report["maximum_optimization_ms"] == published["maximum_saving_ms"]
        for name in ("alpha_ms", "beta_ms", "intercept_ms", "r2_out_of_sample", "bins", "queries"):
            assert report["model"][name] == pytest.approx(published["model"][name]), name
        assert report["model"]["reason"] == published["model"]["no_fit"]


def test_a_log_without_queries(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    assert call("quantile-report", "--log", tmp_path / "empty.log").stdout == "the log holds no queries\n"
    result = call("quantile-report", "--log", tmp_path / "empty.log", "--format", "json")
    assert json.loads(result.stdout) == {"tables": {}}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Missing option '--log'"),
        (["--log", "{tmp}/none.log"], 3, "starskip: no log file at {tmp}/none.log: check the path"),
        (
            ["--log", "{tmp}/linear.log", "--tables", "u"],
            3,
            "starskip: no query of table u in the log: it has queries of t",
        ),
    ],
)
def test_bad_input(
    arguments: list[str], code: int, said: str, call: Call, linear_log: Path, tmp_path: Path
) -> None:
    result = call("quantile-report", *(each.format(tmp=tmp_path) for each in arguments))
    assert (result.exit_code, result.stdout) == (code, "")
    assert said.format(tmp=tmp_path) in result.stderr.splitlines()[-1]


def test_dropped_log_lines_are_told(call: Call, linear_log: Path) -> None:
    with linear_log.open("a") as file:
        file.write(HEAD + "500 logs were dropped. (log max rate per second: 10000.0)\n")
    result = call("quantile-report", "--log", linear_log, "--format", "json")
    assert result.exit_code == 0
    assert (
        "the broker dropped 500 log lines: 500 queries of at most 1 s count 2.0 times each" in result.stderr
    )
    assert "quantiles cover the logged queries only" in result.stderr
    assert json.loads(result.stdout)["tables"]["t"]["queries"] == 500


def test_a_log_of_a_shipper(call: Call, linear_log: Path) -> None:
    plain = call("quantile-report", "--log", linear_log, "--format", "json")
    shipped = [{"message": "x", "of": {"broker": line}} for line in linear_log.read_text().splitlines()]
    linear_log.write_text("".join(json.dumps(each) + "\n" for each in shipped))
    named = ("--message-field", "of.broker")
    assert call("quantile-report", "--log", linear_log, "--format", "json", *named).stdout == plain.stdout
