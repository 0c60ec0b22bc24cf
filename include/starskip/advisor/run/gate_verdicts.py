"""Verdicts of the gates on a night's tables, and the tables that a stage may therefore work on.

A gate judges table by table. The stages behind the gate leave out a table that fails, and its last report
stays. Verdicts are artefacts, ``gate_<stage>/<run_date>``, with one part for each table. Failed checks stand
once more in ``stopped_tables/<run_date>``, so that lists of many nights need not read all that passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import uuid4

from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES, STAGES, stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import SourceError, StorageError
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ListedManifest, ManifestLog, newest_manifest


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One expectation of the gate after ``stage``: the seen and the expected values, in words."""

    stage: str
    check: str
    success: bool
    observed: str
    expected: str


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Checks of one gate on one table."""

    table: str
    stage: str
    checks: tuple[GateCheck, ...]

    @property
    def passed(self) -> bool:
        """Return whether no expectation failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[GateCheck, ...]:
        """Return the checks that failed."""
        return tuple(check for check in self.checks if not check.success)


STOPPED = "stopped_tables"
"""The artefact of failed checks: a part for each table that failed a gate, with its checks by stage."""


def publish_verdicts(night: Night, stage: str, verdicts: Iterable[GateVerdict]) -> None:
    """Publish the verdicts of the gate behind ``stage``."""
    found = {verdict.table: verdict for verdict in verdicts}
    night.publish(
        f"gate_{stage}", {table: Part((), {"checks": _plain(each.checks)}) for table, each in found.items()}
    )
    failed = {table: _plain(each.failed) for table, each in found.items() if not each.passed}
    chain = night.store.chain(STOPPED, night.date_text)

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        judged = parts.keys() | failed.keys() if night.tables is None else found.keys()
        changed = dict(parts)
        for table in judged:
            held = parts[table].properties if table in parts else {}
            stages = {name: checks for name, checks in held.items() if name != stage}
            stages |= {stage: failed[table]} if table in failed else {}
            changed[table] = Part((), stages)
        return {table: part for table, part in changed.items() if part.properties}

    newest = newest_manifest(chain)
    if failed or (newest and change(before := chain.read_or_before(newest.version).parts) != before):
        chain.commit(change, commit_id=uuid4().hex, created_at=night.started_at, created_by=night.run_id)


def _plain(checks: Iterable[GateCheck]) -> list[dict[str, Any]]:
    return [
        {"check": c.check, "success": c.success, "observed": c.observed, "expected": c.expected}
        for c in checks
    ]


def read_verdicts(night: Night, stages: Iterable[str] = STAGE_NAMES) -> list[GateVerdict]:
    """Return the verdicts of the gates behind ``stages`` in this night."""
    verdicts = []
    for stage in stages:
        snapshot = night.store.snapshot(f"gate_{stage}", night.date_text)
        for table, part in snapshot.parts().items() if snapshot else ():
            verdicts.append(_verdict(table, stage, part.properties.get("checks")))
    return verdicts


def stopping_verdicts(night: Night) -> dict[str, GateVerdict]:
    """Return for each table that failed a gate the first such verdict, with its failed checks alone."""
    chain = night.store.chain(STOPPED, night.date_text)
    newest = newest_manifest(chain)
    return dict(_stopping(chain, newest)) if newest else {}


def flagged_tables(night: Night, before: str | None = None) -> dict[str, str]:
    """Return each table that failed a gate of a stage before ``before`` (or any), with that stage.

    Before write_report, a failed gate of a stage that builds or proves stops no table.
    """
    stages = STAGE_NAMES if before is None else STAGE_NAMES[: STAGE_NAMES.index(before)]
    if before == "write_report":
        stages = tuple(stage for stage in stages if stage_named(stage).stops_report)
    return {v.table: v.stage for v in reversed(read_verdicts(night, stages)) if not v.passed}


def usable_tables(night: Night, artefact: str, before: str) -> tuple[str, ...]:
    """Return the night's tables of ``artefact`` that no gate has stopped and no stage failed on, sorted.

    Raises SourceError if the artefact of this night is missing: the stage that makes it has not run.
    """
    snapshot = night.store.snapshot(artefact, night.date_text)
    if snapshot is None:
        makers = {made: stage.name for stage in STAGES for made in (stage.artefact, *stage.beside)}
        stage = makers.get(artefact, "an earlier stage")
        raise SourceError(
            f"no {artefact} of {night.date_text}: run {stage} of that night first", source=artefact
        )
    flagged = flagged_tables(night, before)
    return tuple(
        table
        for table, part in snapshot.parts().items()
        if night.wants(table) and table not in flagged and not part.properties.get(FAILED)
    )


@lru_cache(maxsize=1024)
def _stopping(chain: ManifestLog, newest: ListedManifest) -> Mapping[str, GateVerdict]:
    found = {}
    for table, part in chain.read_or_before(newest.version).parts.items():
        first = min(part.properties, key=lambda stage: (*STAGE_NAMES, stage).index(stage))
        found[table] = _verdict(table, first, part.properties[first])
    return found


def _verdict(table: str, stage: str, checks: Any) -> GateVerdict:
    try:
        return GateVerdict(table, stage, tuple(_check(stage, each) for each in checks))
    except (KeyError, TypeError) as error:
        raise StorageError(
            f"gate_{stage}: the verdict on {table} is of another version; run that night again",
            location=f"gate_{stage}",
        ) from error


def _check(stage: str, item: Mapping[str, object]) -> GateCheck:
    words = (str(item[name]) for name in ("observed", "expected"))
    return GateCheck(stage, str(item["check"]), bool(item["success"]), *words)
