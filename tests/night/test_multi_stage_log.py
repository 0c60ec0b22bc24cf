"""Advice from logs of the multi-stage engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest, tune_tables

pytestmark = [pytest.mark.slow, pytest.mark.quality]

JOIN = (
    "SET useMultistageEngine=true; SELECT COUNT(*) FROM lineitem l JOIN airlineStats a "
    "ON l.l_linenumber = a.DayOfWeek WHERE l.l_suppkey = {n} AND Origin = 'JFK' "
    "AND (l_shipmode = 'AIR' OR Carrier = 'AA')"
)
BOTH = "[lineitem, airlineStats]"


def tuned(root: Path, log: Path, tables: tuple[str, ...] = ()) -> TuneAnswer:
    settings = settings_with(window_rows_per_table=2_048, max_simulations_per_table=300, max_indexes=2)
    request = TuneRequest(
        [str(log)], str(root / "segments"), tables, {}, families_named("inverted"), settings
    )
    return tune_tables(request, lambda what, items: items)


def chosen(answer: TuneAnswer) -> dict[str, list[str]]:
    return {
        table.table: [item.index.column for item in table.recommendation.chosen] for table in answer.tables
    }


def test_each_leaf_votes_for_its_table(lab: Any, log_line: Callable[..., str]) -> None:
    log = lab.log(
        *(log_line(BOTH, JOIN.format(n=n), entries=300_000) for n in range(1, 60)), name="joins.log"
    )
    answer = tuned(lab.root, log)
    assert chosen(answer) == {"airlineStats": ["Origin"], "lineitem": ["l_suppkey"]}
    logs = [table.log for table in answer.tables]
    assert [(log.queries, log.unparsed, log.leaves) for log in logs] == [(59, 0, 59)] * 2
    assert sum(log.entries for log in logs) == 59 * 300_000
    assert logs[1].entries > 10 * logs[0].entries, "it has more than ten times the rows"


def test_a_table_asked_for_alone_has_its_share_and_no_more(lab: Any, log_line: Callable[..., str]) -> None:
    log = lab.log(*(log_line(BOTH, JOIN.format(n=n), entries=300_000) for n in range(1, 9)), name="joins.log")
    (whole,) = (table for table in tuned(lab.root, log).tables if table.table == "lineitem")
    (alone,) = tuned(lab.root, log, ("lineitem",)).tables
    assert alone.log == whole.log


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("WITH x AS (SELECT * FROM lineitem WHERE l_suppkey = {n}) SELECT COUNT(*) FROM x", "l_suppkey"),
        ("SELECT COUNT(*) FROM (SELECT l_tax FROM lineitem WHERE l_partkey = {n}) s", "l_partkey"),
        (
            "SELECT l_tax FROM lineitem WHERE l_suppkey = {n} UNION ALL "
            "SELECT l_tax FROM lineitem WHERE l_suppkey = 1 + 1",
            "l_suppkey",
        ),
        (
            "SELECT l_tax FROM lineitem WHERE l_orderkey IN (SELECT k FROM lineitem) AND l_partkey = {n}",
            "l_partkey",
        ),
        (
            "SELECT l_tax, ROW_NUMBER() OVER (PARTITION BY l_tax ORDER BY l_quantity) FROM lineitem "
            "WHERE l_suppkey = {n} LIMIT 10",
            "l_suppkey",
        ),
    ],
)
def test_multi_stage_queries_of_one_table(
    lab: Any, log_line: Callable[..., str], text: str, column: str
) -> None:
    lines = [log_line("[lineitem]", text.format(n=n), entries=80_000) for n in range(1, 30)]
    assert chosen(tuned(lab.root, lab.log(*lines, name="one.log"))) == {"lineitem": [column]}


def test_a_night_with_joins_keeps_its_gates_and_tells_the_leaves(
    lab: Any, log_line: Callable[..., str]
) -> None:
    joins = [log_line(BOTH, JOIN.format(n=n), entries=300_000) for n in range(1, 40)]
    strange = [log_line("[lineitem, nowhere]", f"SELECT brok(({n}", entries=3) for n in range(2_000)]
    lab.log(*joins, *strange, name="joins.log")
    assert lab.run_with_gates() == {}
    document = lab.report("lineitem")
    quality, summary = document["data_quality"], document["summary"]
    assert quality["leaf_queries"] == 39
    assert summary["unparsed"] == 2_000
    in_log = lab.night().store.snapshot("queries", "2026-11-20").parts()["lineitem"].files
    assert summary["queries"] == sum(file.rows for file in in_log) > 2_039
    assert document["chosen"]
    assert lab.report("airlineStats")["data_quality"]["leaf_queries"] == 39


def test_queries_that_are_not_understood_and_scan_most_stop_a_table(
    lab: Any, log_line: Callable[..., str]
) -> None:
    strange = [log_line("[lineitem, nowhere]", f"SELECT brok(({n}", entries=900_000) for n in range(2_000)]
    lab.log(*strange, name="joins.log")
    assert lab.run_with_gates() == {"lineitem": ["queries of lineitem: share without a shape"]}


def test_leaves_stay_out_of_the_latency_model(lab: Any, log_line: Callable[..., str]) -> None:
    lab.run(stages=STAGE_NAMES[:3])
    alone = lab.published("latency_bins")
    lab.log(*(log_line(BOTH, JOIN.format(n=n), entries=300_000) for n in range(40)), name="joins.log")
    lab.run(stages=STAGE_NAMES[:3])
    assert lab.published("latency_bins") == alone
