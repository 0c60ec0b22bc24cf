"""``starskip decide``: approve, reject or defer advice, list the ledger, and export it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.advice_place import advice_place, config_and_store, person
from starskip.cli.choice import did_you_mean
from starskip.cli.format_option import echo_result, format_option
from starskip.errors import printable
from starskip.extras import needing_extra
from starskip.number_text import percent

if TYPE_CHECKING:
    from starskip.advisor.ledger.entry import LedgerEntry
    from starskip.storage.artefact_store import ArtefactStore


@click.command(name="decide")
@click.argument("table", required=False, default="")
@click.option(
    "--approve", is_flag=True, help="Approve: the DAG index_advisor_apply, or pinot apply, applies it."
)
@click.option("--reject", default=None, metavar="REASON", help="Reject: not proposed again for a while.")
@click.option(
    "--defer-until",
    "until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Not proposed again before this day.",
)
@click.option(
    "--recommendation",
    default="newest",
    show_default=True,
    metavar="FILE|NIGHT",
    help="The advice: JSON of starskip tune, a table config, or a night such as 2026-11-18.",
)
@click.option(
    "--index",
    "indexes",
    multiple=True,
    metavar="NAME",
    help="Only this index of the advice, such as inverted:country; repeatable. [default: all]",
)
@config_and_store
@click.option("--who", default="", metavar="NAME", help="Who decides. [default: the user of the system]")
@click.option(
    "--export", "folder", default="", metavar="DIR", help="Write the whole ledger as a Delta table."
)
@format_option()
def decide(
    table: str,
    approve: bool,
    reject: str | None,
    until: datetime | None,
    recommendation: str,
    indexes: Sequence[str],
    config: str,
    store: str,
    who: str,
    folder: str,
    output: str,
) -> None:
    """Approve, reject or defer the advice on TABLE; without a decision, list what the ledger holds.

    \b
    Examples:
      starskip decide lineitem --approve --config night.yaml
      starskip decide lineitem --reject "no room on the servers" --config night.yaml
      starskip decide lineitem --defer-until 2027-01-10 --index inverted:l_suppkey --config night.yaml
      starskip decide --config night.yaml
      starskip decide --config night.yaml --export ledger
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.advisor.ledger.decisions import Decision, may_wait_for
    from starskip.advisor.ledger.decisions import decide as decided
    from starskip.advisor.ledger.entry import Event
    from starskip.advisor.ledger.ledger import ledger_entries

    decisions = sum((approve, reject is not None, until is not None))
    if decisions > 1:
        raise click.UsageError("give one of --approve, --reject and --defer-until")
    if decisions and not table:
        raise click.UsageError("name the TABLE to decide on")
    if indexes and not decisions:
        raise click.UsageError("--index is of a decision: --approve, --reject or --defer-until")
    if reject is not None and not reject.strip():
        raise click.BadParameter("say why the advice is rejected: others will ask", param_hint="--reject")
    if until and not may_wait_for(until.date(), datetime.now(UTC).date()):
        raise click.BadParameter(
            "name a day that lies ahead, by at most ten years", param_hint="--defer-until"
        )
    place = advice_place(config, store, {})
    if decisions:
        event = Event.DEFERRED if until else Event.REJECTED if reject else Event.APPROVED
        decision = Decision(event, who.strip() or person(), reject or "", until.date() if until else None)
        advice = place.advice(recommendation, table, {"tableName": table})
        found = decided(place.store, advice, decision, indexes)
    else:
        found = place.entries(table) if table else ledger_entries(place.store)
    exported = ""
    if folder:
        with needing_extra("delta"):
            from starskip.advisor.ledger.export_ledger import export_ledger

        exported = f"{export_ledger(place.store, folder):,} entries written to {printable(folder, 200)}"
    echo_result(
        output,
        {"entries": [_document(each) for each in found]},
        lambda: _text(found, exported) if found else _nothing(place.store, table),
    )


def _document(entry: LedgerEntry) -> dict[str, Any]:
    row = entry.to_row()
    return {
        **row,
        "at": entry.at.isoformat(),
        "until": entry.until.isoformat() if entry.until else None,
        "config": dict(entry.index.config),
    }


def _text(entries: Sequence[LedgerEntry], exported: str) -> str:
    from starskip.advisor.ledger.standing import drift

    lines = [printable(_line(each)) for each in entries]
    tables = dict.fromkeys(each.table for each in entries)
    drifts = {table: drift([each for each in entries if each.table == table]) for table in tables}
    lines += [f"{printable(table, 100)}: {words}" for table, words in drifts.items() if words]
    return "\n".join([*lines, *([exported] if exported else [])])


def _nothing(store: ArtefactStore, table: str) -> str:
    from starskip.advisor.ledger.ledger import newest_entries

    if not table:
        return "the ledger has no entries"
    return (
        f"the ledger has no entries on {printable(table, 100)}.{did_you_mean(table, newest_entries(store))}"
    )


def _line(entry: LedgerEntry) -> str:
    predicted, measured = entry.index.saving_ratio, entry.measured_saving_ratio
    savings = [f"{percent(predicted)} predicted"] if predicted is not None else []
    savings += [f"{percent(measured)} measured"] if measured is not None else []
    until = f" until {entry.until}" if entry.until else ""
    why = f": {entry.reason}" if entry.reason else ""
    told = f" ({', '.join(savings)})" if savings else ""
    event = entry.event.value.replace("_", " ")
    return (
        f"{entry.at:%Y-%m-%d %H:%M} {entry.table} {entry.index.name} {event}{until} by {entry.who}{told}{why}"
    )
