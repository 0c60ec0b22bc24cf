"""The advice for one table as ``starskip tune --format json`` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.families.column_indexes import INVERTED, SORTED
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.latency.shape_times import latency_document
from starskip.advisor.selection.harmed_shapes import HarmedShape
from starskip.advisor.selection.table_advice import LEAST_GAP_RATIO, TableAdvice
from starskip.sql.masking import mask_literals

_ORIGINAL = (INVERTED, SORTED)
"""The families of Pinot's own tuner, whose keys are present whatever is asked for."""


def tune_document(advice: TableAdvice, families: FamilyChoice) -> dict[str, Any]:
    """Return the document of one table."""
    recommendation = advice.recommendation
    paths = families.with_path
    # Families are named where several may be meant.
    has_families = len(paths) != 1 or paths[0] not in _ORIGINAL
    orders = advice.sort_order.chosen if advice.sort_order else ()
    chosen = (*recommendation.chosen, *orders)
    listed = [family for family in families.known if family in (*_ORIGINAL, *paths)]
    sizes = [(item.index, item.size_bytes) for item in recommendation.chosen]
    sizes += [(item.index, item.size_bytes) for item in advice.refused]
    columns: dict[str, Any] = {}
    for family in listed:
        for key, value in _columns_of(family, chosen).items():
            columns.setdefault(key, value)  # a user's own family has no say in a key of those before it
    return {
        **columns,
        "predicted_saving_ratio": recommendation.saving.ratio,
        "predicted_interval": [recommendation.saving.low, recommendation.saving.high],
        "queries": advice.log.queries,
        "unparsed": advice.log.unparsed,
        "refused": [
            {
                "columns": [item.index.column],
                **({"kind": item.index.family} if has_families else {}),
                "reason": item.code,
                "detail": item.detail,
            }
            for item in advice.refused
        ]
        + [
            {name: value for name, value in answer.to_document().items() if name != "size_bytes"}
            for answer in advice.refused_answers()
        ],
        "drops": [
            {
                "columns": [drop.index.column],
                "kind": drop.index.family,
                "reason": drop.code,
                "detail": drop.detail,
            }
            for drop in advice.drops
        ],
        "size_bytes": {str(index): size for index, size in sizes if size is not None},
        "indexes": [
            # An order beside the indexes has a key of its own: it is no part of the chosen set.
            *(_chosen(item, families.known, advice.index_times.columns) for item in recommendation.chosen),
            *(answer.to_document() for answer in advice.chosen_answers()),
        ],
        "combined": advice.combined.to_document(),
        **_of_time(advice),
        **({"notes": list(advice.notes)} if advice.notes else {}),
        **({"reads_more": [_harmed(each) for each in advice.harmed]} if advice.harmed else {}),
        **({"not_used": dict(advice.not_used)} if advice.not_used else {}),
        **_proof(advice),
        **_of_log(advice),
    }


def _of_time(advice: TableAdvice) -> dict[str, Any]:
    """Return the unit of the choice, the latency model, and what all changes save of a query's time."""
    time = advice.time
    return {
        "unit": advice.unit,
        "latency": latency_document(advice.times, advice.mistrust),
        "predicted_saving_ms": time.saving_ms if time else None,
        "predicted_interval_ms": [time.low_ms, time.high_ms] if time else None,
    }


def _columns_of(family: Family, chosen: Sequence[Verdict]) -> dict[str, Any]:
    columns = [item.index.column for item in chosen if item.index.family == family.name]
    return dict(family.document(columns)) if family.document else {}


def _harmed(shape: HarmedShape) -> dict[str, Any]:
    document = shape.to_document()
    return document | {"filter": mask_literals(document["filter"], quoted_names=True)}


def _chosen(item: Verdict, known: Sequence[Family], times_ms: Mapping[Index, float]) -> dict[str, Any]:
    keys = [family.config for family in known if family.name == item.index.family]
    return {
        "family": item.index.family,
        "columns": [item.index.column],
        "saving_ratio": item.progressive_saving_ratio,
        "individual_saving_ratio": item.individual_saving_ratio,
        "saving_ms": times_ms.get(item.index),
        "size_bytes": item.size_bytes,
        "config": keys[0].fragment(item.index.column) if keys and keys[0] else None,
    }


def _proof(advice: TableAdvice) -> dict[str, Any]:
    """Return the proof of the choice, if it is not proved the best.

    ``bound``: a share of all entries. Both are null if the solver failed.
    """
    gap, bound = advice.gap_ratio, advice.bound
    if gap is not None and gap <= LEAST_GAP_RATIO:
        return {}
    return {"gap_ratio": gap, "bound": None if bound is None else bound / max(advice.nights.entries, 1.0)}


def _of_log(advice: TableAdvice) -> dict[str, Any]:
    """Return the losses of the log; a log without losses has no such keys."""
    texts = advice.log.unlogged_texts
    is_redacted = texts.literals_queries or texts.texts_queries
    return {
        **({"redacted": texts.to_json()} if is_redacted else {}),
        **({"leaf_queries": advice.log.leaves} if advice.log.leaves else {}),
    }
