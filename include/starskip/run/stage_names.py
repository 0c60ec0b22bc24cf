"""Names of the night's stages in their order, and of what each publishes; light for the DAG file."""

from __future__ import annotations

STAGES = (
    "collect_segment_metadata",
    "parse_query_logs",
    "fit_latency_model",
    "score_votes",
    "select_indexes",
    "build_star_trees",
    "refresh_skipping_indexes",
    "verify_indexes",
    "write_report",
)
"""The stages in the order of the night."""

BUILDING_STAGES = ("build_star_trees", "refresh_skipping_indexes", "verify_indexes")
"""Stages whose failure costs a table no report, which tells of it: the advice stands without."""

ARTEFACT_OF = {
    "collect_segment_metadata": "table_facts",
    "parse_query_logs": "queries",
    "fit_latency_model": "latency_model",
    "score_votes": "votes",
    "select_indexes": "recommendations",
    "build_star_trees": "star_tree_builds",
    "refresh_skipping_indexes": "skipping_builds",
    "verify_indexes": "verdicts",
    "write_report": "reports",
}
"""The artefact that each stage's gate looks at."""
