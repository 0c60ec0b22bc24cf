"""The gate behind a stage, on all tables of a night: its verdicts are published and returned."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from starskip.advisor.families.families import families_of_night
from starskip.advisor.families.family_faults import fault_warnings, without_faulty
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import View, in_set
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.gate_verdicts import GateVerdict, publish_verdicts, usable_tables
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import Stage, stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import StorageError, StorageOutage
from starskip.night.lake_only import LAKE_ONLY
from starskip.night.quality.judge_views import judge
from starskip.night.stage_functions import stage_gate
from starskip.skipping.registry import load_modules

_LOG = logging.getLogger(__name__)
_READABLE = "readable"
_ROWS_AT_ONCE = 100_000
"""Rows of views that are held before they are judged."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """State of a table in a stage's artefact, "readable" or why not, and the views of each gate, if any."""

    state: str
    views: Sequence[Mapping[str, View]] = ()

    @property
    def rows(self) -> int:
        return 1 + sum(len(view.rows) for of_gate in self.views for view in of_gate.values())


def check_stage(night: Night, stage: str) -> tuple[GateVerdict, ...]:
    """Judge the artefact of ``stage``, table by table; publish the verdicts and return them.

    A table that fails is flagged, and nothing is raised for it; later stages leave it out. Tables that an
    earlier gate has stopped are not judged. Raises SourceError if the stage has not run, StorageError if the
    verdicts cannot be published, and ConfigError for a module of index types that cannot be imported.
    """
    load_modules(night.skipping_modules)
    night = night.read_once()
    verdicts, faults = without_faulty({}, lambda names: _judged(night.without_families(names), stage))
    for warning in fault_warnings(faults):
        _LOG.warning("check_%s: %s", stage, warning)
    publish_verdicts(night, stage, verdicts)
    return verdicts


def _judged(night: Night, stage: str) -> tuple[GateVerdict, ...]:
    judged = stage_named(stage)
    gates = gates_after(judged, night)
    verdicts: list[GateVerdict] = []
    held: dict[str, _Seen] = {}
    rows = 0
    for table in _tables(night, judged):
        held[table] = _seen(night, judged, gates, table)
        rows += held[table].rows
        if rows >= _ROWS_AT_ONCE:
            verdicts += _verdicts(night, judged, gates, held)
            held, rows = {}, 0
    verdicts += _verdicts(night, judged, gates, held)
    return tuple(verdicts)


def gates_after(stage: Stage, night: Night) -> Sequence[Gate]:
    """Return the gate of the stage, if it has one, and the families' gates for that stage."""
    gate = stage_gate(stage.name)
    own = () if gate is None else (gate,)
    of_families = [family.gates() for family in families_of_night(night).known if family.gates is not None]
    return (*own, *(gates[stage.name] for gates in of_families if stage.name in gates))


def _tables(night: Night, stage: Stage) -> Sequence[str]:
    """Return the tables to judge, including tables for which the stage has published nothing."""
    tables = set(usable_tables(night, stage.artefact, stage.name))
    if stage.made_of:
        tables |= set(usable_tables(night, stage.made_of, stage.name))
    else:
        parts = published(night, stage.artefact).parts()
        tables |= {name for name, part in parts.items() if night.wants(name) and part.properties.get(FAILED)}
    if stage.name == "collect_segment_metadata":
        # A table without a readable segment has no facts.
        return sorted({*tables, *filter(night.wants, published(night, "damaged_segments").tables)})
    if night.tables is None:
        # Anyone can query a cluster for a table of any name: only tables with segments are worth a verdict.
        tables &= set(usable_tables(night, "table_facts", stage.name))
    return sorted(tables)


def _seen(night: Night, stage: Stage, gates: Sequence[Gate], table: str) -> _Seen:
    part = published(night, stage.artefact).parts().get(table)
    if part is None and stage.name != "collect_segment_metadata":
        return _Seen("not published")
    if part is not None and part.properties.get(FAILED):
        return _Seen(str(part.properties[FAILED]))
    if part is not None and part.properties.get(LAKE_ONLY):
        # Without segments and broker queries nothing can be expected of the table.
        return _Seen(_READABLE)
    try:
        return _Seen(_READABLE, [gate.views(night, table) for gate in gates])
    except StorageOutage:
        raise
    except StorageError as error:
        return _Seen(str(error))


def _verdicts(
    night: Night, stage: Stage, gates: Sequence[Gate], seen: Mapping[str, _Seen]
) -> Iterator[GateVerdict]:
    artefact = stage.artefact
    readable = in_set("part", "state", f"{artefact} of {{table}}: state", [_READABLE], expected=_READABLE)
    parts = {table: {"part": View([{"state": each.state}])} for table, each in seen.items()}
    found = [judge(stage.name, parts, [readable])]
    for place, gate in enumerate(gates):
        views = {table: each.views[place] for table, each in seen.items() if each.views}
        found.append(judge(stage.name, views, gate.expectations(night.settings)))
    for table in seen:
        yield GateVerdict(table, stage.name, tuple(check for of in found for check in of.get(table, ())))
