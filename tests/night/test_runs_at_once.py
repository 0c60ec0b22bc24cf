"""Two runs of one night at once, as a backfill and a person may start them, and one run after another."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tables", [None, frozenset({"lineitem"})])
def test_readers_find_what_one_run_gives(
    lab: Any, make_lab: Any, sound: Mapping[str, bytes], tables: frozenset[str] | None
) -> None:
    labs = [make_lab(lab.root), make_lab(lab.root)]
    nights = [lab.night(run_id="of all tables"), lab.night(run_id="beside it", tables=tables)]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda pair: pair[0].run(pair[1]), zip(labs, nights, strict=True)))
    assert lab.published("recommendations") == sound
    for table in ("lineitem", "airlineStats"):
        assert lab.report(table)["table"] == table
    assert lab.night().store.snapshot("queries", "2026-11-20").tables == ("airlineStats", "lineitem")


def test_a_run_repeated_is_the_night_once_more_and_not_twice_its_queries(
    lab: Any, sound: Mapping[str, bytes]
) -> None:
    rows = []
    for run_id in ("first", "second"):
        night = lab.run(lab.night(run_id=run_id))
        rows.append(night.store.snapshot("queries", night.date_text).read_table().num_rows)
        assert lab.published("recommendations") == sound
    assert rows[0] == rows[1] > 0
