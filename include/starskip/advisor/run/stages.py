"""The stages of the night: what each publishes, of which tables, and what comes of a table that fails.

``night/stage_functions.py`` has the function and the gate of each: the DAG file needs none of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the night.

    ``artefact``: the artefact that the stage's gate judges, and ``beside``: further artefacts for later
    stages. ``made_of``: the artefact whose tables the stage must all have worked on, empty if sources decide
    that. ``stops_report``: a table that fails the gate gets no report; a failed build or proof stops no
    report, since the advice stands without it. ``builds``: the artefact of current state that it keeps in the
    store, empty if there is none.
    """

    name: str
    artefact: str
    made_of: str = ""
    beside: tuple[str, ...] = ()
    stops_report: bool = True
    builds: str = ""


STAGES = (
    Stage(
        "collect_segment_metadata",
        artefact="table_facts",
        beside=("damaged_segments", "table_facts_counts"),
    ),
    Stage(
        "parse_query_logs",
        artefact="queries",
        beside=("rejected_records", "lake_queries", "queries_counts"),
        builds="log_times",
    ),
    Stage(
        "fit_latency_model",
        artefact="latency_model",
        made_of="queries",
        beside=("latency_bins",),
    ),
    Stage(
        "score_votes",
        artefact="votes",
        made_of="queries",
        beside=("workload", "index_sizes"),
        builds="segment_windows",
    ),
    Stage(
        "select_indexes",
        artefact="recommendations",
        made_of="votes",
        beside=("questions", "skipping_shapes", "skipping_advice", "secondary_advice"),
    ),
    Stage(
        "build_star_trees",
        artefact="star_tree_builds",
        made_of="recommendations",
        stops_report=False,
        builds="star_trees",
    ),
    Stage(
        "refresh_skipping_indexes",
        artefact="skipping_builds",
        made_of="skipping_advice",
        stops_report=False,
    ),
    Stage(
        "refresh_secondary_indexes",
        artefact="secondary_builds",
        made_of="secondary_advice",
        stops_report=False,
    ),
    Stage(
        "verify_indexes",
        artefact="verdicts",
        made_of="star_tree_builds",
        beside=("skipping_verdicts", "secondary_verdicts"),
        stops_report=False,
    ),
    Stage(
        "write_report",
        artefact="reports",
        made_of="recommendations",
    ),
)
"""The stages in the order of the night."""

STAGE_NAMES = tuple(stage.name for stage in STAGES)
SHARED = STAGE_NAMES[: STAGE_NAMES.index("fit_latency_model")]
"""Stages that read what all tables share: the deep store, and the logs."""
GROUPED = STAGE_NAMES[len(SHARED) :]
"""Stages of a group of tables, which goes on alone."""


def stage_named(name: str) -> Stage:
    """Return the stage of that name."""
    return STAGES[STAGE_NAMES.index(name)]
