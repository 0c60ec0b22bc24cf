"""The gate behind a stage, on all tables of a night: what it finds is published and returned."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.errors import StorageError, StorageOutage
from starskip.indexes.families import families_of_night
from starskip.indexes.skipping.registry import load_modules
from starskip.quality.judge import judge
from starskip.run.expectations import View, in_set
from starskip.run.gate import Gate
from starskip.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts, usable_tables
from starskip.run.lake_only import LAKE_ONLY
from starskip.run.night import Night
from starskip.run.stages import Stage, stage_named
from starskip.run.stream_rows import published
from starskip.run.table_by_table import FAILED


def check_stage(night: Night, stage: str) -> tuple[GateVerdict, ...]:
    """Judge what ``stage`` has published, table by table; publish the verdicts and return them.

    A table that fails is flagged, and nothing is raised for it; later stages leave it out. Tables
    that an earlier gate has stopped are not judged. Raises SourceError where the stage has
    not run, StorageError where the verdicts cannot be published, and ConfigError for a module of index types
    that cannot be imported.
    """
    load_modules(night.skipping_modules)
    of_register = stage_named(stage)
    gates = gates_behind(of_register, night)
    verdicts = tuple(
        GateVerdict(table, stage, _checks(night, of_register, gates, table))
        for table in _tables(night, of_register)
    )
    publish_verdicts(night, stage, verdicts)
    return verdicts


def gates_behind(stage: Stage, night: Night) -> Sequence[Gate]:
    """Return the gate of the stage, if it has one of its own, and those of families for that stage."""
    own = (stage.load_gate(),) if stage.gate else ()
    of_families = [family.gates() for family in families_of_night(night).known if family.gates is not None]
    return (*own, *(gates[stage.name] for gates in of_families if stage.name in gates))


def _tables(night: Night, stage: Stage) -> Sequence[str]:
    """Return the tables to judge, those included of which the stage has published nothing."""
    tables = set(usable_tables(night, stage.artefact, stage.name))
    if stage.name == "collect_segment_metadata":
        # A table without one segment that can be read has no facts.
        damaged = published(night, "damaged_segments")
        return sorted(tables | {table for table in damaged.tables if night.wants(table)})
    if stage.made_of:
        tables |= set(usable_tables(night, stage.made_of, stage.name))
    if night.tables is None:
        # Anyone can ask a cluster for a table of any name: only those with segments are worth a verdict.
        tables &= set(usable_tables(night, "table_facts", stage.name))
    return sorted(tables)


def _checks(night: Night, stage: Stage, gates: Sequence[Gate], table: str) -> tuple[GateCheck, ...]:
    artefact = stage.artefact
    part = published(night, artefact).parts().get(table)
    if part is None and stage.name != "collect_segment_metadata":
        return _part_check(table, artefact, "not published")
    if part is not None and part.properties.get(FAILED):
        return _part_check(table, artefact, str(part.properties[FAILED]))
    if part is not None and part.properties.get(LAKE_ONLY):
        # It has no segments, and no queries of brokers, that anything could be expected of.
        return _part_check(table, artefact, "readable")
    try:
        views = [gate.views(night, table) for gate in gates]
    except StorageOutage:
        raise
    except StorageError as error:
        return _part_check(table, artefact, str(error))
    checks = _part_check(table, artefact, "readable")
    for gate, of_gate in zip(gates, views, strict=True):
        checks += judge(table, of_gate, gate.expectations(night.settings))
    return checks


def _part_check(table: str, artefact: str, state: str) -> tuple[GateCheck, ...]:
    expectation = in_set(
        "part", "state", f"{artefact} of {{table}}: state", ["readable"], expected="readable"
    )
    return judge(table, {"part": View([{"state": state}])}, [expectation])
