"""A night for one table after a night for all: every other table's parts are the very same, files and all.

Two runs of one night at once, as a backfill and a person may start them, and one run after another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.night.expire_snapshots import expire_snapshots
from starskip.storage.manifest import Part

pytestmark = pytest.mark.slow


def parts_of(night: Any) -> dict[str, Any]:
    snapshots = {a: night.store.snapshot(a, night.date_text) for a in night.store.artefacts()}
    # Windows of segments are of no night.
    return {artefact: snapshot.parts() for artefact, snapshot in snapshots.items() if snapshot}


def others_of(parts: dict[str, Any]) -> dict[str, Any]:
    return {
        artefact: {table: part for table, part in of_artefact.items() if table != "lineitem"}
        for artefact, of_artefact in parts.items()
    }


def test_only_the_parts_of_that_table_change(lab: Any, log_line: Any) -> None:
    broken = log_line("lineitem", "SELECT 1 FROM lineitem").replace("docs=10/299814", "docs=ten")
    lab.log(broken)
    before = parts_of(lab.run())
    assert before["rejected_records"]["-"].files
    after = parts_of(lab.run(lab.night(tables=frozenset({"lineitem"}), run_id="one table")))
    assert others_of(after) == others_of(before)
    changed = {artefact for artefact in before if after[artefact] != before[artefact]}
    assert {"table_facts", "queries", "votes", "recommendations", "reports"} <= changed


def test_the_first_run_of_a_night_may_be_one_for_one_table(lab: Any) -> None:
    parts = parts_of(lab.run(lab.night(tables=frozenset({"lineitem"}))))
    assert set(parts["reports"]) == set(parts["queries"]) == {"lineitem"}


def test_its_old_nights_go_and_those_of_other_tables_stay(lab: Any) -> None:
    night = lab.night(
        tables=frozenset({"lineitem"}),
        started_at=datetime.now(UTC),
        settings=settings_with(lab.settings, nights=1),
    )
    for day in ("2026-11-01", "2026-11-02"):
        aside = night.store.staged_write("reports", day)
        parts = {table: Part((aside.write_file(table, "f", b"x"),)) for table in ("lineitem", "airlineStats")}
        night.store.publish(
            "reports", day, parts, replace="all", created_at=night.started_at, created_by="test"
        )
    for path in Path(night.store.storage.root).rglob("*"):
        os.utime(path, (0, 0))
    assert expire_snapshots(night).retired.nights == ("2026-11-01",)
    assert night.store.snapshot("reports", "2026-11-01").tables == ("airlineStats",)
    assert night.store.snapshot("reports", "2026-11-02").tables == ("airlineStats", "lineitem")
    for path in Path(night.store.storage.root).rglob("*"):
        os.utime(path, (0, 0))
    assert expire_snapshots(replace(night, tables=None), dry_run=True).retired.nights == ("2026-11-01",)


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
