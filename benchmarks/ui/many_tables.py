"""A store of many tables and nights, as nights would have left it, written without running one.

Tables differ as real ones do: a few scan most, most have advice, some none; some were stopped or failed last
night; some lie in the lake alone; decisions and applications stand in the ledger. Only the newest
DISTINCT_NIGHTS nights are written one by one: older ones are links to them, since no page looks that far back
at once. All reports of a night share the files of a few.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from report_cases import milliseconds
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.run.table_by_table import failed_parts
from starskip.night.night_runs import note_run
from starskip.reports.advice_values import Interval
from starskip.reports.report_files import report_files
from starskip.reports.report_summary import SUMMARY, ReportSummary, SummaryIndex
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import DataFile, Part
from starskip.storage.storage_for import storage_for

LAST_NIGHT = date(2026, 11, 27)
DISTINCT_NIGHTS = 45
MISSED_AGES = frozenset({3, 4, 9})
"""Days before the last night on which none was run."""
_COLUMNS = (
    "country,user_id,event_type,device,city,campaign,os_version,browser,status,price,product,category,store,"
    "channel,language,plan,tier,partner,referrer,session_id"
)
_SUBJECTS = "events,orders,clicks,sessions,payments,shipments,reviews,searches,carts,logins,refunds,ads"
_REGIONS = "eu,us,apac,latam,mena,global,web,mobile,batch,raw,daily,hourly"
_NOTHING = (
    "no index would save enough to be worth its upkeep",
    "no query filters on a column that an index would serve",
    "the log of 2026-11-27 holds no query of it",
)


def write_store(folder: Path, tables: int, nights: int, seed: int = 1) -> tuple[str, ...]:
    """Write a store of so many tables and nights into an empty folder; return the tables' names."""
    draw = random.Random(seed)
    store = ArtefactStore(storage_for(str(folder)))
    many = [_Table(number, draw) for number in range(tables)]
    dates = [LAST_NIGHT - timedelta(days=age) for age in range(nights) if age not in MISSED_AGES]
    contents = report_files(milliseconds())
    for age, run_date in enumerate(dates[:DISTINCT_NIGHTS]):
        night = _night(store, run_date)
        staged = store.staged_write("reports", night.date_text)
        files = tuple(staged.write_file("all", name, content) for name, content in contents.items())
        _publish(night, many, files, is_last=age == 0)
        note_run(night, None, None)
    _link(folder, [each.isoformat() for each in dates])
    _fill_ledger(store, many, draw)
    return tuple(each.name for each in many)


def _night(store: ArtefactStore, run_date: date) -> Night:
    started = datetime.combine(run_date, time(2), UTC) + timedelta(days=1)
    return Night(run_date, store, Settings(), started, f"scheduled__{run_date.isoformat()}")


class _Table:
    """One table with its advice, which changes a little from night to night."""

    def __init__(self, number: int, draw: random.Random) -> None:
        subject, region = draw.choice(_SUBJECTS.split(",")), draw.choice(_REGIONS.split(","))
        self.name = f"{subject}_{region}_{number:03}"
        self.kind = draw.choices(("advice", "drop", "lake", "nothing"), (70, 4, 8, 18))[0]
        self.entries = 10 ** draw.gauss(8, 0.9)
        self.ratio = draw.betavariate(4, 2.5)
        self.half = draw.choice((0.02, 0.03, 0.05, 0.12))
        self.is_trusted = draw.random() < 0.7
        self.why = draw.choice(_NOTHING)
        self.bytes = round(10 ** draw.gauss(9.6, 0.8))
        self.indexes = tuple(self._indexes(draw))
        self.draw = draw

    def _indexes(self, draw: random.Random) -> Sequence[SummaryIndex]:
        columns = draw.sample(_COLUMNS.split(","), 9)
        if self.kind == "lake":
            return [SummaryIndex(f"{draw.choice(('minmax', 'bloom', 'valuelist'))} skipping", (columns[0],))]
        found = []
        if self.kind == "drop":
            return [_named("inverted", (columns[0],), is_drop=True)]
        found += [_named("inverted", (each,)) for each in columns[: draw.randint(1, 4)]]
        found += [_named("range", (each,)) for each in columns[4 : 4 + draw.choice((0, 0, 1))]]
        if draw.random() < 0.4:
            pairs = ("COUNT__*", "SUM__price", "MAX__price")[: draw.randint(1, 3)]
            found.append(replace(_named("star_tree", tuple(columns[5:8])), functions=pairs))
        if draw.random() < 0.1:
            found.append(_named("inverted", (columns[8],), is_drop=True))
        return found

    def summary(self, night: Night) -> ReportSummary:
        entries = self.entries * self.draw.uniform(0.9, 1.1)
        base = ReportSummary(
            self.name, night.run_date, night.started_at, "", round(entries / 3e5), table_bytes=self.bytes,
            segments=max(self.bytes // 400_000_000, 1), indexes=self.indexes,
        )  # fmt: skip
        if self.kind == "nothing":
            return replace(base, headline=f"No change for {self.name}: {self.why}.", indexes=())
        if self.kind == "drop":
            return replace(base, headline="Drop the inverted index that no query needs.")
        ratio = min(max(self.ratio + self.draw.gauss(0, 0.02), 0.03), 0.97)
        if self.kind == "lake":
            read = entries * 900
            return replace(base, lake_only=True, lake_ratio=ratio, lake_bytes=read * ratio)
        saving_ms = entries * ratio * 2e-5 if self.is_trusted else None
        return replace(
            base,
            headline=f"Add indexes on {self.name}.",
            saving_ratio=ratio,
            interval=Interval(ratio - self.half, min(ratio + self.half, 1.0)),
            saving_entries=entries * ratio,
            saving_ms=saving_ms,
            interval_ms=None if saving_ms is None else Interval(saving_ms * 0.8, saving_ms * 1.2),
            times_trusted=self.is_trusted,
            size_bytes=round(self.bytes * 0.02 * len(self.indexes)),
            unsized=int(self.bytes % 13 == 0),
        )


def _named(kind: str, columns: tuple[str, ...], *, is_drop: bool = False) -> SummaryIndex:
    return SummaryIndex(kind, columns, AdvisedIndex(kind, columns, is_drop=is_drop).name, is_drop=is_drop)


def _publish(night: Night, many: Sequence[_Table], files: tuple[DataFile, ...], *, is_last: bool) -> None:
    """Publish the night's reports and verdicts; of the last night some tables failed or were stopped."""
    stopped = {each.name for each in many[7::90]} if is_last else set()
    broken = {each.name for each in many[11::200]} if is_last else set()
    reported = [each for each in many if each.name not in stopped | broken]
    parts: Mapping[str, Part] = {
        each.name: Part(files, {SUMMARY: each.summary(night).to_json()}) for each in reported
    }
    reason = "a fault of Starskip: KeyError in votes, line 88: 'l_tax'"
    night.publish("reports", {**parts, **failed_parts(dict.fromkeys(broken, reason))})
    for stage in STAGE_NAMES:
        verdicts = [
            GateVerdict(each.name, stage, tuple(_checks(stage, each.name, is_stopped=each.name in stopped)))
            for each in many
        ]
        publish_verdicts(night, stage, verdicts)


def _checks(stage: str, table: str, *, is_stopped: bool) -> Sequence[GateCheck]:
    fails = is_stopped and stage == "parse_query_logs"
    rejected = GateCheck(
        stage, f"log of {table}: share of records that are rejected", not fails,
        "38.2 %" if fails else "0.1 %", "at most 5 %",
    )  # fmt: skip
    return [rejected, *(GateCheck(stage, f"{table}: check {i}", True, "1", "at least 1") for i in range(4))]


def _link(folder: Path, nights: Sequence[str]) -> None:
    """Give every older night the manifests of a newer one."""
    for place, night in enumerate(nights[DISTINCT_NIGHTS:]):
        source = nights[1 + place % (DISTINCT_NIGHTS - 1)]
        for artefact in ("reports", "night_runs", *(f"gate_{stage}" for stage in STAGE_NAMES)):
            target = folder / artefact / night / "manifests"
            target.mkdir(parents=True)
            for each in (folder / artefact / source / "manifests").iterdir():
                os.link(each, target / each.name)


def _fill_ledger(store: ArtefactStore, many: Sequence[_Table], draw: random.Random) -> None:
    """Decide on a third of the tables, in a few sittings; some of it was applied and measured before."""
    now = datetime.combine(LAST_NIGHT, time(9), UTC) + timedelta(days=1)
    decided = draw.sample([each for each in many if each.kind == "advice"], len(many) // 3)
    for sitting in range(0, len(decided), 40):
        entries = [entry for each in decided[sitting : sitting + 40] for entry in _entries(each, now, draw)]
        add_entries(store, entries, created_at=now, created_by="benchmark")


def _entries(table: _Table, now: datetime, draw: random.Random) -> Sequence[LedgerEntry]:
    event = draw.choices(
        (Event.APPROVED, Event.REJECTED, Event.DEFERRED, Event.KEPT, Event.REFUTED), (50, 15, 15, 15, 5)
    )[0]
    found = []
    for each in table.indexes[: draw.randint(1, len(table.indexes))]:
        index = AdvisedIndex(each.kind, each.columns, saving_ratio=table.ratio / 3, is_drop=each.is_drop)
        entry = LedgerEntry(table.name, now, "ann", event, index, LAST_NIGHT.isoformat(), reason="as advised")
        if event in (Event.KEPT, Event.REFUTED):
            measured = table.ratio + draw.gauss(-0.03, 0.05)
            entry = replace(
                entry, application=f"a-{table.name}", interval=(table.ratio - 0.05, table.ratio + 0.05),
                table_predicted_saving_ratio=table.ratio, table_measured_saving_ratio=measured,
                reloaded_bytes=table.bytes, reload_seconds=table.bytes / 2.4e7,
            )  # fmt: skip
        found.append(entry)
    return found
