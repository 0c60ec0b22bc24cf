"""Advice from logs that a broker redacted: literals gone, or all text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from redacted_log import redacted_log
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest, tune_tables

pytestmark = [pytest.mark.slow, pytest.mark.quality]

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
DAY = SAMPLE / "logs" / "broker-2026-11-20.log.gz"
SMALL = settings_with(window_rows_per_table=2_048, max_simulations_per_table=300, max_sampled_segments=2)
ASKED = {"max_indexes": 3, "min_gain_ratio": 0.0}
FEW_INSTANCES = {"instances_per_shape": 4}
"""For tests that look at no saving: literals are drawn for each instance of a shape, up to forty times."""
FULL = "pinot.broker.query.log.sqlRedaction to none"


@cache
def tuned(log: Path, **settings: Any) -> TuneAnswer:
    """Tune for a log, which no test changes afterwards: once for all tests that ask for the same."""
    given = settings_with(SMALL, **settings)
    request = TuneRequest([str(log)], str(SAMPLE / "segments"), (), {}, families_named("inverted"), given)
    return tune_tables(request, lambda what, items: items)


@pytest.fixture(scope="module")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("redacted") / "broker.log"
    path.write_text(redacted_log(DAY))
    return path


def test_advice_without_literals_is_that_with_them(redacted: Path) -> None:
    """The sample's day: the same columns for each K, and savings that the wider intervals hold."""
    for whole, cut in zip(tuned(DAY, **ASKED).tables, tuned(redacted, **ASKED).tables, strict=True):
        log, logged_cut = whole.log, cut.log
        counts = logged_cut.queries, logged_cut.entries, logged_cut.failed
        assert (log.queries, log.entries, log.failed) == counts
        assert logged_cut.unlogged_texts.literals_entries_ratio > 0.95
        assert not log.unlogged_texts.literals_queries
        points = zip(whole.recommendation.curve, cut.recommendation.curve, strict=True)
        for point, of_cut in list(points)[:3]:
            assert set(point.indexes) == set(of_cut.indexes), (whole.table, point.k)
            assert of_cut.saving.low < point.saving.ratio < of_cut.saving.high
            assert of_cut.saving.high - of_cut.saving.low > point.saving.high - point.saving.low


def test_strategy_estimation_needs_no_literals_either(redacted: Path) -> None:
    for table in tuned(redacted, strategy="estimation", max_indexes=1, min_gain_ratio=0.0).tables:
        assert len(table.recommendation.chosen) == 1
        assert table.recommendation.saving.ratio > 0.15


@pytest.mark.parametrize("strategy", ["frequency", "parser"])
def test_other_strategies_do_not_stumble(redacted: Path, strategy: str) -> None:
    answer = tuned(redacted, strategy=strategy, **FEW_INSTANCES)
    assert all(table.recommendation.chosen for table in answer.tables)


def test_a_log_without_any_text_has_no_advice_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(redacted_log(DAY, mode="full"))
    answer = tuned(log)
    with_text = {table.table: table for table in tuned(DAY, **ASKED).tables}
    for table in answer.tables:
        assert (table.recommendation.chosen, table.refused, table.drops) == ((), (), ())
        assert table.log.unlogged_texts.is_everything
        same = with_text[table.table]
        assert (table.log.queries, table.log.entries) == (same.log.queries, same.log.entries)


def failed_of_night(lab: Any, text: str) -> dict[str, list[str]]:
    for log in lab.logs.iterdir():
        log.unlink()
    lab.log(text)
    lab.settings = settings_with(lab.settings, **FEW_INSTANCES)
    failed: dict[str, list[str]] = lab.run_with_gates()
    return failed


def test_a_night_tells_what_the_log_lacks(lab: Any) -> None:
    assert failed_of_night(lab, redacted_log(DAY)) == {}
    document = lab.report("lineitem")
    texts = document["data_quality"]["unlogged_texts"]
    assert texts["literals_queries"] > 800
    assert texts["texts_queries"] == 0
    assert document["chosen"]
    assert document["summary"]["unparsed"] == 0
    assert "were logged without literals" in lab.markdown("lineitem")


def test_a_night_without_texts_ends_with_reports_that_say_why(lab: Any) -> None:
    assert failed_of_night(lab, redacted_log(DAY, mode="full")) == {}
    document = lab.report("lineitem")
    assert document["data_quality"]["unlogged_texts"]["is_everything"]
    assert document["summary"]["queries"] == document["summary"]["unparsed"] > 800
    assert document["chosen"] == []
    assert FULL in lab.markdown("lineitem")


def test_some_queries_without_text_take_nothing_from_the_others(tmp_path: Path, redacted: Path) -> None:
    lines = redacted.read_text().splitlines(keepends=True)
    log = tmp_path / "broker.log"
    log.write_text(
        "".join(lines + [line.partition(",query=")[0] + ",query=REDACTED\n" for line in lines[:99]])
    )
    for table, alone in zip(tuned(log, **ASKED).tables, tuned(redacted, **ASKED).tables, strict=True):
        added = table.log.unlogged_texts.texts_queries
        assert 0 < added < 99
        assert table.log.queries == alone.log.queries + added
        assert table.log.unparsed == alone.log.unparsed + added
        saved = [each.recommendation.saving.ratio * each.log.entries for each in (table, alone)]
        assert saved[0] == pytest.approx(saved[1], rel=0.1)
