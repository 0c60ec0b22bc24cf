"""A night for one table after a night for all: every other table's parts are the very same, files and all."""

from __future__ import annotations

from typing import Any


def parts_of(night: Any) -> dict[str, Any]:
    snapshots = {a: night.store.snapshot(a, night.date_text) for a in night.store.artefacts()}
    return {artefact: snapshot.parts() for artefact, snapshot in snapshots.items()}


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
