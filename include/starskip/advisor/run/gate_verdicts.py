"""Verdicts of the gates on a night's tables, and the tables that a stage may therefore work on.

A gate judges table by table. The stages behind the gate leave out a table that fails, and its last report
stays. Verdicts are artefacts, ``gate_<stage>/<run_date>``, with one part for each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES, STAGES, stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import SourceError, StorageError
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.newest_manifest import ListedManifest, newest_manifest


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
        return all(check.success for check in self.checks)


def publish_verdicts(night: Night, stage: str, verdicts: Iterable[GateVerdict]) -> None:
    """Publish the verdicts of the gate behind ``stage``."""
    parts = {
        verdict.table: Part(
            (),
            {
                "checks": [
                    {"check": c.check, "success": c.success, "observed": c.observed, "expected": c.expected}
                    for c in verdict.checks
                ]
            },
        )
        for verdict in verdicts
    }
    night.publish(f"gate_{stage}", parts)


def read_verdicts(night: Night, stages: Iterable[str] = STAGE_NAMES) -> list[GateVerdict]:
    """Return the verdicts of the gates behind ``stages`` in this night."""
    verdicts = []
    for stage in stages:
        snapshot = night.store.snapshot(f"gate_{stage}", night.date_text)
        for table, part in snapshot.parts().items() if snapshot else ():
            verdicts.append(_verdict(table, stage, part))
    return verdicts


def stopping_verdicts(night: Night) -> dict[str, GateVerdict]:
    """Return for each table that failed a gate the first such verdict, with its failed checks alone."""
    stopping: dict[str, GateVerdict] = {}
    for stage in STAGE_NAMES:
        chain = night.store.chain(f"gate_{stage}", night.date_text)
        newest = newest_manifest(chain)
        for verdict in _failed(chain, newest, stage) if newest else ():
            stopping.setdefault(verdict.table, verdict)
    return stopping


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
def _failed(chain: ManifestLog, newest: ListedManifest, stage: str) -> tuple[GateVerdict, ...]:
    parts = chain.read_or_before(newest.version).parts
    verdicts = (_verdict(table, stage, part, failed_only=True) for table, part in parts.items())
    return tuple(verdict for verdict in verdicts if verdict.checks)


def _verdict(table: str, stage: str, part: Part, *, failed_only: bool = False) -> GateVerdict:
    try:
        found = [each for each in part.properties["checks"] if not (failed_only and each["success"])]
        return GateVerdict(table, stage, tuple(_check(stage, each) for each in found))
    except (KeyError, TypeError) as error:
        raise StorageError(
            f"gate_{stage}: the verdict on {table} is of another version; run that night again",
            location=f"gate_{stage}",
        ) from error


def _check(stage: str, item: Mapping[str, object]) -> GateCheck:
    words = (str(item[name]) for name in ("observed", "expected"))
    return GateCheck(stage, str(item["check"]), bool(item["success"]), *words)
