"""Apply what the ledger holds as approved, table by table, without a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from starskip.advisor.deployment.application import Outcome
from starskip.advisor.deployment.asked_application import Asked, apply_prepared, go_on, prepare
from starskip.advisor.deployment.journal import Journal
from starskip.advisor.deployment.replayed_workload import night_workload
from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import approved, approved_advice
from starskip.advisor.run.night import Night
from starskip.pinot.cluster.open_cluster import open_cluster
from starskip.pinot.cluster.pinot_address import pinot_address
from starskip.pinot.hybrid_tables import without_type


def approved_tables(night: Night) -> list[str]:
    """Return the tables with something to do: approved advice, or an application that was cut short."""
    by_table: dict[str, list[LedgerEntry]] = {}
    for entry in ledger_entries(night.store):
        by_table.setdefault(entry.table, []).append(entry)
    found = [table for table, entries in by_table.items() if approved(entries)]
    found += [each.advised_table for each in Journal(night.store, "").all() if not each.is_over]
    return [table for table in dict.fromkeys(found) if night.wants(table)]


def apply_approved(
    night: Night,
    table: str,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    realtime_tables: Collection[str] = (),
) -> Outcome:
    """Go on with an application of the table that was cut short, or apply what is approved for it.

    The address of the cluster is in ``environment``. ``realtime_tables``: REALTIME tables that may be
    reloaded, by name, with their type or without.
    """
    allowed = {without_type(each)[0] for each in realtime_tables}
    with open_cluster(pinot_address("", "", environment)) as cluster:
        asked = Asked(
            cluster,
            night.store,
            table,
            night.settings.deployment,
            night.run_id,
            say,
            without_type(table)[0] in allowed,
            lambda advice: night_workload(night.store, advice.table, advice.source),
        )
        outcome = go_on(asked)
        if outcome is None:
            advice = approved_advice(table, ledger_entries(night.store, table))
            prepared = prepare(asked, lambda _config: advice)
            for note in prepared.plan.notes:
                say(f"left out: {note}")
            say(f"forecast: {prepared.forecast.words}")
            outcome = apply_prepared(asked, prepared)
    return outcome
