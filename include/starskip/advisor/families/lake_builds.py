"""Stages that bring indexes of lake tables in line with a night's choice, whatever their family.

Built artefacts are current state: a table holds the newest night's choice; an older night, or a backfill,
leaves the table unchanged. The artefact of builds holds the outcome of each index. Indexes that somebody
created by hand are refreshed and never deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import (
    failed_parts,
    failure_warnings,
    failure_words,
    is_of_one_table,
    is_ours,
)
from starskip.advisor.run.user_code import plugin_errors
from starskip.advisor.run.withheld_builds import withheld_builds
from starskip.errors import MissingExtra, printable
from starskip.lake.lake_table import LakeTable
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot

CREATED, REFRESHED, UNCHANGED = "created", "refreshed", "unchanged"
KEPT = frozenset({CREATED, REFRESHED, UNCHANGED})
"""Outcomes of existing indexes that nights look after."""
BY_HAND, DELETED, FAILED, NOT_BUILT = "by_hand", "deleted", "failed", "not_built"
"""The other outcomes; indexes made by hand are refreshed, too."""
OUTCOMES = (CREATED, REFRESHED, UNCHANGED, BY_HAND, DELETED, FAILED, NOT_BUILT)
_OWN = "own"
"""Property of a table's builds: the indexes that this night or an earlier one made, and that are there."""


@dataclass(frozen=True, slots=True)
class TableBuild:
    """Rows of one table in an artefact of builds, such as SKIPPING_BUILDS, and its properties."""

    rows: Sequence[dict[str, Any]] = ()
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChosenIndexes:
    """Indexes that a night has to build on one table.

    ``chosen``: indexes, best first, with their estimated sizes. ``own``: the indexes that an earlier night
    made. ``note``: why there is no advice, None if there is advice.
    """

    night: Night
    table: str
    lake: LakeTable
    chosen: dict[str, int | None]
    own: set[str]
    note: str | None

    def wanted(self, active: Sequence[str]) -> list[str]:
        """Return the indexes that the table is to have; ``active``: its present indexes."""
        # A day without advice must not delete indexes that queries use.
        kept = [name for name in active if name not in self.own or self.note is not None]
        return list(dict.fromkeys([*self.chosen, *kept]))

    def rows(
        self,
        active: Sequence[str],
        *,
        is_changed: bool,
        facts: Callable[[str], dict[str, Any]],
    ) -> list[dict[str, Any]]:
        """Return a row for each index that is kept or was deleted; ``active``: the indexes before this night.

        ``facts`` returns files and sizes of a present index; ``is_changed``: whether files were read.
        """
        names = self.wanted(active)
        by_hand = set(active) - self.own - self.chosen.keys()
        rows = []
        for name in names:
            outcome = CREATED if name not in active else REFRESHED if is_changed else UNCHANGED
            if name in by_hand:
                outcome = BY_HAND
            row = {"table": self.table, "index": name, "outcome": outcome}
            rows.append({**row, **facts(name), "estimated_bytes": self.chosen.get(name)})
        gone = [name for name in active if name not in names]
        detail = "tonight's choice is without it"
        return rows + [
            {"table": self.table, "index": name, "outcome": DELETED, "detail": detail} for name in gone
        ]


@dataclass(frozen=True, slots=True)
class LakeBuilds:
    """A building stage: the artefacts it reads and publishes, and its function for one table.

    ``plural``: as sentences name the indexes. ``obstacle``: why none can be built in this night, empty if
    they can. ``build``: builds the chosen indexes.
    """

    stage: str
    advice: str
    artefact: str
    plural: str
    obstacle: Callable[[], str]
    build: Callable[[ChosenIndexes], TableBuild]


def publish_builds(night: Night, builds: LakeBuilds) -> StageResult:
    """Create, refresh and delete indexes of the night's tables, and publish each outcome.

    A table whose indexes cannot be written keeps its indexes; its rows say why.
    """
    tables = usable_tables(night, builds.advice, builds.stage)
    withheld = withheld_builds(night, builds.advice)
    # Listed once: a table that no night knows is looked for in all of them.
    former = [each for each in night.store.begun_nights(builds.artefact) if each <= night.date_text]
    staged = night.store.staged_write(builds.artefact, night.date_text)
    parts: dict[str, Part] = {}
    counts = dict.fromkeys(OUTCOMES, 0)
    warnings = []
    unread: dict[str, str] = {}
    for table in tables:
        try:
            build = _table_build(night, table, builds, withheld, former)
        except Exception as error:
            if not is_of_one_table(error):
                raise
            unread[table] = failure_words(error)
            continue
        for row in build.rows:
            counts[row["outcome"]] += 1
        failures = dict.fromkeys(row["detail"] for row in build.rows if row["outcome"] == FAILED)
        warnings += [printable(f"table {table}: {builds.plural} not built: {each}") for each in failures]
        rows = pa.Table.from_pylist(list(build.rows), schema=night.store.schemas[builds.artefact])
        parts[table] = Part(staged.write(table, rows), build.properties)
    night.publish(builds.artefact, {**parts, **failed_parts(unread)})
    warnings += failure_warnings(builds.stage, unread)
    return StageResult({"tables": len(tables), **counts}, tuple(warnings))


def _table_build(
    night: Night, table: str, builds: LakeBuilds, withheld: str, former: Sequence[str]
) -> TableBuild:
    advised = night.store.snapshot(builds.advice, night.date_text)
    assert advised is not None
    note = advised.parts([table])[table].properties.get("note")
    chosen = _chosen(advised, table)
    lake, obstacle = night.lake_tables.get(table), builds.obstacle()
    if lake is None or (obstacle and not chosen):
        return TableBuild(properties={"note": note})
    withheld = obstacle or withheld
    if withheld:
        return TableBuild(_unbuilt(table, chosen, NOT_BUILT, withheld), {"note": withheld})
    own = _own(night, builds.artefact, table, former)
    try:
        with plugin_errors(night):
            build = builds.build(ChosenIndexes(night, table, lake, chosen, own, note))
            if build.rows:  # none where nothing is chosen and no metadata is found
                own = {row["index"] for row in build.rows if row["outcome"] in KEPT}
    except MissingExtra as error:
        build = TableBuild(_unbuilt(table, chosen, NOT_BUILT, str(error)), {"note": str(error)})
    except Exception as error:
        if not (is_ours(error) or is_of_one_table(error)):
            raise
        reason = failure_words(error)
        build = TableBuild(_unbuilt(table, chosen, FAILED, reason), {"note": reason})
    return replace(build, properties={**build.properties, _OWN: sorted(own)})


def _chosen(advised: Snapshot, table: str) -> dict[str, int | None]:
    """Return the chosen indexes, best first, with their estimated sizes."""
    rows = advised.read_table([table]).to_pylist()
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    return {row["index"]: row["size_bytes"] for row in chosen}


def _unbuilt(table: str, chosen: dict[str, int | None], outcome: str, detail: str) -> list[dict[str, Any]]:
    return [
        {"table": table, "index": index, "outcome": outcome, "detail": detail, "estimated_bytes": size}
        for index, size in chosen.items()
    ]


def _own(night: Night, artefact: str, table: str, former: Sequence[str]) -> set[str]:
    """Return the indexes that an earlier run of a night made, by the newest of ``former`` that tells."""
    for run_date in former:
        snapshot = night.store.snapshot(artefact, run_date)
        if snapshot is None or table not in snapshot.tables:
            continue
        told = snapshot.parts([table])[table].properties
        if _OWN in told:  # a night that withheld its builds tells nothing
            return set(told[_OWN])
    return set()
