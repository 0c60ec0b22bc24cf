"""Stage select_indexes: ``votes`` and ``workload`` to ``recommendations`` (seed 000, II.3 C)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from starskip.artefacts.manifest import Part
from starskip.artefacts.schemas import RECOMMENDATIONS
from starskip.scoring.baseline_scores import frequency_scores, parser_scores
from starskip.scoring.parser_selectivity import INVERTED_ORDER, SORTED_ORDER
from starskip.scoring.segment_estimates import parsed_shape
from starskip.scoring.structure import Structure
from starskip.selection.exclusive_orders import exclusive_orders
from starskip.selection.filtered_columns import columns_without_votes, unused_indexes, without_segments
from starskip.selection.recommend import Budget, Entries, Recommendation, Refused, recommend
from starskip.selection.vote_list import vote_lists
from starskip.settings import Settings
from starskip.stages.engine import Engine
from starskip.stages.gate_verdicts import usable_tables
from starskip.stages.night import Night, StageResult
from starskip.stages.planned_votes import candidate_columns
from starskip.stages.score_votes import read_overviews
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice for one table: what to build, what is refused for other reasons, what to drop."""

    table: str
    recommendation: Recommendation
    refused: tuple[Refused, ...]
    drops: tuple[str, ...]
    queries: int
    failed: int
    unparsed: int
    shapes: int
    entries: int


def select_indexes(engine: Engine, night: Night) -> StageResult:
    """Publish ``recommendations`` of the night's tables."""
    tables = usable_tables(night, "votes", "select_indexes")
    overviews = read_overviews(engine, night, tables)
    aside = night.store.write_aside("recommendations", night.date_text)
    parts: dict[str, Part] = {}
    chosen = 0
    for table in tables:
        shapes = list(workload_shapes(_rows(night, "workload", table)))
        advice = advise_table(
            table, shapes, _rows(night, "votes", table), overviews.get(table), night.settings
        )
        chosen += len(advice.recommendation.chosen)
        parts[table] = Part(aside.write(table, _recommendation_rows(advice)), _properties(advice))
    night.publish("recommendations", parts)
    return StageResult({"tables": len(tables), "chosen_indexes": chosen})


def advise_table(
    table: str,
    shapes: Sequence[ShapeWorkload],
    votes: pa.Table,
    overview: TableOverview | None,
    settings: Settings,
    index_kind: str = "inverted",
) -> TableAdvice:
    """Return the advice for one table from its WORKLOAD shapes and VOTES of one index kind.

    ``overview`` is None for a table without segments, which nothing can be recommended for.
    """
    parsed = [shape for shape in shapes if shape.is_parsed]
    lists = vote_lists(votes)
    if index_kind == "sorted":
        lists = exclusive_orders(lists)
    total = sum(shape.entries_scanned_in_filter for shape in shapes)
    entries = Entries(float(total), sum(shape.entries_scanned_in_filter_squared for shape in shapes))
    most = 1 if index_kind == "sorted" else settings.max_indexes
    budget = Budget(most, settings.min_gain_ratio, settings.model_error_ratio)
    ranked = _baseline_ranking(settings.strategy, parsed, overview, index_kind)
    recommendation = recommend(lists, entries, budget, ranked=ranked)
    uses = [(parsed_shape(shape.skeleton), shape.queries) for shape in parsed]
    is_inverted = index_kind == "inverted"
    voted = frozenset().union(*(item.structures for item in lists)) if lists else frozenset()
    return TableAdvice(
        table=table,
        recommendation=recommendation,
        refused=recommendation.refused
        + (columns_without_votes(uses, overview, voted, index_kind) if overview else without_segments(uses)),
        drops=unused_indexes(uses, overview) if overview and parsed and is_inverted else (),
        queries=sum(shape.queries for shape in shapes),
        failed=sum(shape.failed for shape in shapes),
        unparsed=sum(shape.queries for shape in shapes if not shape.is_parsed),
        shapes=len(parsed),
        entries=total,
    )


def _baseline_ranking(
    strategy: str, shapes: Sequence[ShapeWorkload], overview: TableOverview | None, index_kind: str
) -> list[Structure] | None:
    if strategy == "leapfrog" or overview is None:
        return None
    if strategy == "frequency":
        found = frequency_scores(shapes, overview)
    else:
        order = SORTED_ORDER if index_kind == "sorted" else INVERTED_ORDER
        found = parser_scores(shapes, overview, order=order)
    scores = {name: value for name, value in found.items() if value > 0}
    allowed = scores.keys() & candidate_columns(overview, index_kind)
    return [Structure(index_kind, name) for name in sorted(allowed, key=lambda name: (-scores[name], name))]


def _rows(night: Night, artefact: str, table: str) -> pa.Table:
    snapshot = night.store.snapshot(artefact, night.date_text)
    assert snapshot is not None
    return snapshot.read_table([table])


def _recommendation_rows(advice: TableAdvice) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for rank, item in enumerate(advice.recommendation.chosen, start=1):
        rows.append(
            {
                "verdict": "chosen",
                "kind": item.structure.kind,
                "column": item.structure.column,
                "rank": rank,
                "individual_saving_ratio": item.individual_saving_ratio,
                "progressive_saving_ratio": item.progressive_saving_ratio,
                "shapes_helped": item.shapes_helped,
            }
        )
    rows.extend(
        {
            "verdict": "refused",
            "kind": refusal.structure.kind,
            "column": refusal.structure.column,
            "individual_saving_ratio": refusal.individual_saving_ratio,
            "reason": refusal.reason.value,
            "detail": refusal.detail,
        }
        for refusal in advice.refused
    )
    detail = "the index exists and no query of the night filters by it in a way that it serves"
    rows.extend(
        {"verdict": "drop", "kind": "inverted", "column": column, "reason": "unused", "detail": detail}
        for column in advice.drops
    )
    return pa.Table.from_pylist([{"table": advice.table, **row} for row in rows], schema=RECOMMENDATIONS)


def _properties(advice: TableAdvice) -> Mapping[str, Any]:
    recommendation = advice.recommendation
    return {
        "saving": asdict(recommendation.saving),
        "stop": recommendation.stop.value,
        "curve": [
            {"k": p.k, "columns": [s.column for s in p.structures], "saving": asdict(p.saving)}
            for p in recommendation.curve
        ],
        **{name: getattr(advice, name) for name in ("queries", "failed", "unparsed", "shapes", "entries")},
    }


def chosen_columns(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the chosen columns of RECOMMENDATIONS rows, best first."""
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    return tuple(row["column"] for row in chosen)
