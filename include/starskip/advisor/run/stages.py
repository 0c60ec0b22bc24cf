"""The register of the night's stages: their functions, artefacts and gates; light for the DAG file.

Functions and gates stand here as ``package.module:name`` and are imported when they are asked for: the DAG
file reads the names alone, and some stages and gates import Arrow, DuckDB or SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starskip.advisor.run.gate import Gate
    from starskip.advisor.run.night import Night, StageResult
    from starskip.execution.engine import Engine


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the night.

    ``function`` and ``gate``: their places; families may bring more gates. ``artefact``: the artefact that
    its gate judges, and ``beside``: further artefacts for later stages. ``made_of``: the artefact whose
    tables the stage must all have worked on, empty if sources decide that. ``stops_report``: a table that
    fails the gate gets no report; a failed build or proof stops no report, since the advice stands without
    it. ``builds``: the artefact of current state that it keeps in the store, empty if there is none.
    """

    name: str
    function: str
    artefact: str
    gate: str
    made_of: str = ""
    beside: tuple[str, ...] = ()
    stops_report: bool = True
    builds: str = ""

    def load(self) -> Callable[[Engine, Night], StageResult]:
        """Return the stage's function."""
        function: Callable[[Engine, Night], StageResult] = resolve_name(self.function)
        return function

    def load_gate(self) -> Gate:
        """Return the gate behind the stage."""
        gate: Gate = resolve_name(self.gate)
        return gate


STAGES = (
    Stage(
        "collect_segment_metadata",
        function="starskip.night.collect_segment_metadata:collect_segment_metadata",
        artefact="table_facts",
        gate="starskip.night.quality.table_facts_gate:TABLE_FACTS_GATE",
        beside=("damaged_segments",),
    ),
    Stage(
        "parse_query_logs",
        function="starskip.night.parse_query_logs:parse_query_logs",
        artefact="queries",
        gate="starskip.night.quality.queries_gate:QUERIES_GATE",
        beside=("rejected_records", "lake_queries"),
    ),
    Stage(
        "fit_latency_model",
        function="starskip.night.fit_latency_model:fit_latency_model",
        artefact="latency_model",
        gate="starskip.night.quality.latency_model_gate:LATENCY_MODEL_GATE",
        made_of="queries",
        beside=("latency_bins",),
    ),
    Stage(
        "score_votes",
        function="starskip.night.score_votes:score_votes",
        artefact="votes",
        gate="starskip.night.quality.votes_gate:VOTES_GATE",
        made_of="queries",
        beside=("workload", "index_sizes"),
    ),
    Stage(
        "select_indexes",
        function="starskip.night.select_indexes:select_indexes",
        artefact="recommendations",
        gate="starskip.night.quality.recommendations_gate:RECOMMENDATIONS_GATE",
        made_of="votes",
        beside=("skipping_shapes", "skipping_advice", "secondary_advice"),
    ),
    Stage(
        "build_star_trees",
        function="starskip.advisor.families.star_tree.build_star_trees:build_star_trees",
        artefact="star_tree_builds",
        gate="starskip.advisor.families.star_tree.star_trees_gate:STAR_TREES_GATE",
        made_of="recommendations",
        stops_report=False,
        builds="star_trees",
    ),
    Stage(
        "refresh_skipping_indexes",
        function="starskip.advisor.families.skipping.refresh_skipping_indexes:refresh_skipping_indexes",
        artefact="skipping_builds",
        gate="starskip.advisor.families.skipping.skipping_gate:SKIPPING_GATE",
        made_of="skipping_advice",
        stops_report=False,
    ),
    Stage(
        "refresh_secondary_indexes",
        function="starskip.advisor.families.secondary.refresh_secondary_indexes:refresh_secondary_indexes",
        artefact="secondary_builds",
        gate="starskip.advisor.families.secondary.secondary_gate:SECONDARY_GATE",
        made_of="secondary_advice",
        stops_report=False,
    ),
    Stage(
        "verify_indexes",
        function="starskip.night.verify_indexes:verify_indexes",
        artefact="verdicts",
        gate="",
        made_of="star_tree_builds",
        beside=("skipping_verdicts", "secondary_verdicts"),
        stops_report=False,
    ),
    Stage(
        "write_report",
        function="starskip.reports.write_report:write_report",
        artefact="reports",
        gate="starskip.reports.reports_gate:REPORTS_GATE",
        made_of="recommendations",
    ),
)
"""The stages in the order of the night."""

STAGE_NAMES = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> Stage:
    """Return the stage of that name."""
    return STAGES[STAGE_NAMES.index(name)]
