"""The advice for one table as ``starskip tune --format json`` prints it."""

from __future__ import annotations

from typing import Any

from starskip.selection.advise_table import TableAdvice


def tune_document(advice: TableAdvice, index_kind: str) -> dict[str, Any]:
    """Return the document of one table; ``index_kind`` as it was asked for."""
    recommendation = advice.recommendation
    chosen = [item.structure for item in recommendation.chosen]
    order = recommendation if index_kind == "sorted" else advice.sort_order
    # Kinds are told where several may be meant: what is asked for one kind keeps the seed's two.
    has_kinds = index_kind not in ("inverted", "sorted")
    ranges = {"range_index_columns": [item.column for item in chosen if item.kind == "range"]}
    sizes = [(item.structure, item.size_bytes) for item in recommendation.chosen]
    sizes += [(item.structure, item.size_bytes) for item in advice.refused]
    return {
        "inverted_index_columns": [item.column for item in chosen if item.kind == "inverted"],
        **(ranges if has_kinds else {}),
        "sorted_column": order.chosen[0].structure.column if order and order.chosen else None,
        "predicted_saving_ratio": recommendation.saving.ratio,
        "predicted_interval": [recommendation.saving.low, recommendation.saving.high],
        "queries": advice.queries,
        "unparsed": advice.unparsed,
        "refused": [
            {
                "columns": [item.structure.column],
                **({"kind": item.structure.kind} if has_kinds else {}),
                "reason": item.reason.value,
                "detail": item.detail,
            }
            for item in advice.refused
        ],
        "drops": [
            {
                "columns": [drop.structure.column],
                "kind": drop.structure.kind,
                "reason": "unused",
                "detail": drop.detail,
            }
            for drop in advice.drops
        ],
        "size_bytes": {str(structure): size for structure, size in sizes if size is not None},
        **_of_log(advice),
    }


def _of_log(advice: TableAdvice) -> dict[str, Any]:
    """Return what the log did not tell; a log that told all has no such keys."""
    texts = advice.unlogged_texts
    is_redacted = texts.literals_queries or texts.texts_queries
    return {
        **({"redacted": texts.to_json()} if is_redacted else {}),
        **({"leaf_queries": advice.leaves} if advice.leaves else {}),
    }
