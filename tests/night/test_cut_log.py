"""Advice from logs whose query texts the broker cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redacted_log import cut_log
from settings_with import settings_with
from starskip.advisor.families.families import families_named
from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest, tune_tables

pytestmark = [pytest.mark.slow, pytest.mark.quality]

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
DAY = SAMPLE / "logs" / "broker-2026-11-20.log.gz"
LENGTH = 90
SMALL = settings_with(window_rows_per_table=2_048, max_simulations_per_table=300, max_sampled_segments=2)
WARNING = f"query texts of {LENGTH} characters are cut by the broker and not understood: "


def tuned(log: Path, **settings: Any) -> TuneAnswer:
    given = settings_with(SMALL, strategy="frequency", **settings)
    request = TuneRequest([str(log)], str(SAMPLE / "segments"), (), {}, families_named("inverted"), given)
    return tune_tables(request, lambda what, items: items)


def unparsed(answer: TuneAnswer) -> int:
    return sum(table.log.unparsed for table in answer.tables)


def test_tune_leaves_cut_texts_out(tmp_path: Path) -> None:
    text = cut_log(DAY, LENGTH)
    cut = sum(len(line.partition(",query=")[2]) == LENGTH for line in text.splitlines())
    log = tmp_path / "broker.log"
    log.write_text(text)
    answer = tuned(log)
    assert unparsed(answer) - unparsed(tuned(DAY)) > 0.9 * cut > 100
    assert [warning for warning in answer.warnings if warning.startswith(WARNING)]
    assert unparsed(tuned(log, split_bytes=20_000)) == unparsed(answer)
    believed = tuned(log, query_text_length=(1 << 31) - 1)
    assert unparsed(believed) < unparsed(answer)
    assert not believed.warnings


def test_a_night_leaves_cut_texts_out(lab: Any, log_line: Callable[..., str]) -> None:
    """Also those of several tables, whose texts become one a table."""
    text = "SELECT COUNT(*) FROM lineitem WHERE l_shipmode = 'AIR' AND l_suppkey = {} AND l_tax = 0.07"
    join = (
        "SELECT COUNT(*) FROM lineitem l JOIN airlineStats a ON l.l_linenumber = a.DayOfWeek "
        "WHERE l_suppkey = {} AND Origin = 'JFK'"
    )
    short = [log_line("lineitem", f"SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {n}") for n in range(40)]
    cut = [log_line("lineitem", text.format(n)[: LENGTH - 10]) for n in range(1_000, 1_030)]
    joins = [log_line("[lineitem, airlineStats]", join.format(n)[: LENGTH - 10]) for n in range(9)]
    lab.log(*short, *cut, *joins, name="cut.log")
    lab.run_with_gates()
    workload = lab.night().store.snapshot("workload", "2026-11-20").read_table(["lineitem"]).to_pylist()
    (shape,) = (row for row in workload if row["shape_id"] == "unparsed:cut")
    assert shape["queries"] == len(cut) + len(joins)
