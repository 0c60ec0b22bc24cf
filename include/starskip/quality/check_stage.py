"""The gate behind a stage, on all tables of a night: what it finds is published and returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.errors import StorageError, StorageOutage
from starskip.indexes.skipping.registry import load_modules
from starskip.quality.expectations import View, in_set, judge
from starskip.quality.gate import Gate
from starskip.quality.latency_model_gate import LATENCY_MODEL_GATE
from starskip.quality.queries_gate import QUERIES_GATE
from starskip.quality.recommendations_gate import RECOMMENDATIONS_GATE
from starskip.quality.reports_gate import REPORTS_GATE
from starskip.quality.skipping_gate import SKIPPING_GATE
from starskip.quality.star_trees_gate import STAR_TREES_GATE
from starskip.quality.stream_rows import published
from starskip.quality.table_facts_gate import TABLE_FACTS_GATE
from starskip.quality.verdicts_gate import VERDICTS_GATE
from starskip.quality.votes_gate import VOTES_GATE
from starskip.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts, usable_tables
from starskip.run.lake_only import LAKE_ONLY
from starskip.run.night import Night
from starskip.run.stage_names import ARTEFACT_OF
from starskip.run.table_by_table import FAILED

_GATES: Mapping[str, Gate] = {
    "collect_segment_metadata": TABLE_FACTS_GATE,
    "parse_query_logs": QUERIES_GATE,
    "fit_latency_model": LATENCY_MODEL_GATE,
    "score_votes": VOTES_GATE,
    "select_indexes": RECOMMENDATIONS_GATE,
    "build_star_trees": STAR_TREES_GATE,
    "refresh_skipping_indexes": SKIPPING_GATE,
    "verify_indexes": VERDICTS_GATE,
    "write_report": REPORTS_GATE,
}
_MADE_OF = {
    "fit_latency_model": "queries",
    "score_votes": "queries",
    "select_indexes": "votes",
    "build_star_trees": "recommendations",
    "refresh_skipping_indexes": "skipping_advice",
    "verify_indexes": "star_tree_builds",
    "write_report": "recommendations",
}
"""The artefact whose tables the stage must all have worked on."""


def check_stage(night: Night, stage: str) -> tuple[GateVerdict, ...]:
    """Judge what ``stage`` has published, table by table; publish the verdicts and return them.

    A table that fails is flagged, and nothing is raised for it; later stages leave it out. Tables
    that an earlier gate has stopped are not judged. Raises SourceError where the stage has
    not run, StorageError where the verdicts cannot be published, and ConfigError for a module of index types
    that cannot be imported.
    """
    load_modules(night.skipping_modules)
    verdicts = tuple(
        GateVerdict(table, stage, _checks(night, stage, table)) for table in _tables(night, stage)
    )
    publish_verdicts(night, stage, verdicts)
    return verdicts


def _tables(night: Night, stage: str) -> Sequence[str]:
    """Return the tables to judge, those included of which the stage has published nothing."""
    tables = set(usable_tables(night, ARTEFACT_OF[stage], stage))
    if stage == "collect_segment_metadata":
        # A table without one segment that can be read has no facts.
        damaged = published(night, "damaged_segments")
        return sorted(tables | {table for table in damaged.tables if night.wants(table)})
    if stage in _MADE_OF:
        tables |= set(usable_tables(night, _MADE_OF[stage], stage))
    if night.tables is None:
        # Anyone can ask a cluster for a table of any name: only those with segments are worth a verdict.
        tables &= set(usable_tables(night, "table_facts", stage))
    return sorted(tables)


def _checks(night: Night, stage: str, table: str) -> tuple[GateCheck, ...]:
    gate, artefact = _GATES[stage], ARTEFACT_OF[stage]
    part = published(night, artefact).parts().get(table)
    if part is None and stage != "collect_segment_metadata":
        return _part_check(table, artefact, "not published")
    if part is not None and part.properties.get(FAILED):
        return _part_check(table, artefact, str(part.properties[FAILED]))
    if part is not None and part.properties.get(LAKE_ONLY):
        # It has no segments, and no queries of brokers, that anything could be expected of.
        return _part_check(table, artefact, "readable")
    try:
        views = gate.views(night, table)
    except StorageOutage:
        raise
    except StorageError as error:
        return _part_check(table, artefact, str(error))
    return _part_check(table, artefact, "readable") + judge(table, views, gate.expectations(night.settings))


def _part_check(table: str, artefact: str, state: str) -> tuple[GateCheck, ...]:
    expectation = in_set(
        "part", "state", f"{artefact} of {{table}}: state", ["readable"], expected="readable"
    )
    return judge(table, {"part": View([{"state": state}])}, [expectation])
