"""The function and the gate of each stage, imported when they are asked for.

A process runs one stage or judges one: it does without DuckDB, SciPy or sqlglot of the others. What a stage
publishes, and the order, are in ``advisor/run/stages.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.stages import stage_named
from starskip.execution.engine import Engine
from starskip.night.quality.count_rows import publish_counts

StageFunction = Callable[[Engine, Night], StageResult]


def stage_function(stage: str) -> StageFunction:
    """Return what runs a stage, and then counts in its artefact what the gate asks."""
    run, gate = _stage_function(stage), stage_gate(stage)
    if gate is None or gate.counts is None:
        return run
    counts_of = gate.counts

    @wraps(run)
    def run_and_count(engine: Engine, night: Night) -> StageResult:
        result = run(engine, night)
        publish_counts(engine, night, stage_named(stage).artefact, stage, counts_of(night))
        return result

    return run_and_count


def _stage_function(stage: str) -> StageFunction:
    match stage:
        case "collect_segment_metadata":
            from starskip.night.collect_segment_metadata import collect_segment_metadata

            return collect_segment_metadata
        case "parse_query_logs":
            from starskip.night.parse_query_logs import parse_query_logs

            return parse_query_logs
        case "fit_latency_model":
            from starskip.night.fit_latency_model import fit_latency_model

            return fit_latency_model
        case "score_votes":
            from starskip.night.score_votes import score_votes

            return score_votes
        case "select_indexes":
            from starskip.night.select_indexes import select_indexes

            return select_indexes
        case "build_star_trees":
            from starskip.advisor.families.star_tree.build_star_trees import build_star_trees

            return build_star_trees
        case "refresh_skipping_indexes":
            from starskip.advisor.families.skipping.refresh_skipping_indexes import refresh_skipping_indexes

            return refresh_skipping_indexes
        case "refresh_secondary_indexes":
            from starskip.advisor.families.secondary.refresh_secondary_indexes import (
                refresh_secondary_indexes,
            )

            return refresh_secondary_indexes
        case "verify_indexes":
            from starskip.night.verify_indexes import verify_indexes

            return verify_indexes
        case "write_report":
            from starskip.reports.write_report import write_report

            return write_report
    raise ValueError(f"there is no stage {stage}")


def stage_gate(stage: str) -> Gate | None:
    """Return the gate behind a stage, None where only families have one. Raises ValueError for no stage."""
    match stage:
        case "collect_segment_metadata":
            from starskip.night.quality.table_facts_gate import TABLE_FACTS_GATE

            return TABLE_FACTS_GATE
        case "parse_query_logs":
            from starskip.night.quality.queries_gate import QUERIES_GATE

            return QUERIES_GATE
        case "fit_latency_model":
            from starskip.night.quality.latency_model_gate import LATENCY_MODEL_GATE

            return LATENCY_MODEL_GATE
        case "score_votes":
            from starskip.night.quality.votes_gate import VOTES_GATE

            return VOTES_GATE
        case "select_indexes":
            from starskip.night.quality.recommendations_gate import RECOMMENDATIONS_GATE

            return RECOMMENDATIONS_GATE
        case "build_star_trees":
            from starskip.advisor.families.star_tree.star_trees_gate import STAR_TREES_GATE

            return STAR_TREES_GATE
        case "refresh_skipping_indexes":
            from starskip.advisor.families.skipping.skipping_gate import SKIPPING_GATE

            return SKIPPING_GATE
        case "refresh_secondary_indexes":
            from starskip.advisor.families.secondary.refresh_secondary_indexes import SECONDARY_GATE

            return SECONDARY_GATE
        case "write_report":
            from starskip.reports.reports_gate import REPORTS_GATE

            return REPORTS_GATE
        case "verify_indexes":
            return None
    # A stage that was forgotten here must not run without a gate.
    raise ValueError(f"there is no stage {stage}")
