"""Apply what the ledger holds as approved, table by table, without a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from starskip.advisor.deployment.application import Outcome
from starskip.advisor.deployment.asked_application import Asked, apply_prepared, go_on, prepare
from starskip.advisor.deployment.journal import Journal
from starskip.advisor.deployment.replayed_workload import night_workload
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import approved, approved_advice
from starskip.advisor.run.night import Night
from starskip.pinot.cluster.open_cluster import open_cluster
from starskip.pinot.cluster.pinot_address import pinot_address


def approved_tables(night: Night) -> list[str]:
    """Return the tables with something to do: approved advice, or an application that was cut short."""
    entries = ledger_entries(night.store)
    tables = dict.fromkeys(each.table for each in entries)
    found = [table for table in tables if approved([each for each in entries if each.table == table])]
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
    reloaded, by name.
    """
    with open_cluster(pinot_address("", "", environment)) as cluster:
        asked = Asked(
            cluster,
            night.store,
            table,
            night.settings.deployment,
            night.run_id,
            say,
            table in realtime_tables,
            lambda advice: night_workload(night.store, advice.table, advice.source),
        )
        outcome = go_on(asked)
        if outcome is None:
            advice = approved_advice(table, ledger_entries(night.store, table))
            outcome = apply_prepared(asked, prepare(asked, lambda _config: advice))
    return outcome
