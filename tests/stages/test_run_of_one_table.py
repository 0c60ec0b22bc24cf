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
    stranger = broken.replace("table=lineitem", "table=airlineStats")
    lab.log(broken, stranger, "2026/11/20 10:00:01.000 INFO [BaseBrokerRequestHandler] no table at all\n")
    before = parts_of(lab.run())
    assert {"lineitem", "airlineStats"} < before["rejected_records"].keys()
    after = parts_of(lab.run(lab.night(tables=frozenset({"lineitem"}), run_id="one table")))
    assert others_of(after) == others_of(before)
    changed = {artefact for artefact in before if after[artefact] != before[artefact]}
    assert {"table_facts", "queries", "rejected_records", "votes", "recommendations", "reports"} <= changed


def test_its_rejected_records_go_when_there_are_none_any_more(lab: Any, log_line: Any) -> None:
    path = lab.log(log_line("lineitem", "SELECT 1 FROM lineitem").replace("docs=10/299814", "docs=ten"))
    lab.run()
    path.unlink()
    parts = parts_of(lab.run(lab.night(tables=frozenset({"lineitem"}))))
    assert parts["rejected_records"]["lineitem"].files == ()


def test_the_first_run_of_a_night_may_be_one_for_one_table(lab: Any) -> None:
    parts = parts_of(lab.run(lab.night(tables=frozenset({"lineitem"}))))
    assert set(parts["reports"]) == set(parts["queries"]) == {"lineitem"}
