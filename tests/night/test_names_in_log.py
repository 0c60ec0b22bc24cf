"""Names in a night's log: whatever their case and database, they are those of its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starskip.advisor.run.stages import STAGE_NAMES

pytestmark = pytest.mark.slow


def test_a_night_counts_queries_by_the_names_of_its_tables(lab: Any, log_line: Callable[..., str]) -> None:
    texts = {
        "lineitem": "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {} AND l_suppkey <> 3",
        "LINEITEM_OFFLINE": "select count(*) from LINEITEM where L_SUPPKEY = {} AND L_suppkey <> 4; set a=5",
        "tpch.LineItem": 'SELECT COUNT(*) FROM tpch.LineItem WHERE LineItem."L_suppkey" = {} '
        "AND tpch.lineitem.l_SUPPKEY != 5",
        "[LineItem, AIRLINESTATS]": "SELECT COUNT(*) FROM LineItem l JOIN AIRLINESTATS a ON l.L_LINENUMBER "
        "= a.DAYOFWEEK WHERE L_SUPPKEY = {} AND a.ORIGIN = 'JFK'",
    }
    lab.log(*(log_line(table, text.format(n)) for table, text in texts.items() for n in range(9)))
    lab.run(stages=STAGE_NAMES[: STAGE_NAMES.index("score_votes") + 1])
    workload = lab.night().store.snapshot("workload", "2026-11-20").read_table().to_pylist()
    queries = {(row["table"], row["text"].replace('"', "")): row["queries"] for row in workload}
    plain = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = ? AND l_suppkey <> ?"
    assert queries["lineitem", plain] == 27
    assert queries["lineitem", "SELECT * FROM lineitem WHERE l_suppkey = ? ORDER BY ?"] == 9
    assert queries["airlineStats", "SELECT * FROM airlineStats WHERE Origin = ? ORDER BY ?"] == 9
