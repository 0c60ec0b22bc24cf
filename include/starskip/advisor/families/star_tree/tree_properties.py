"""The star-trees of an advice as properties of the table's part of ``recommendations``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, AnswersChosen
from starskip.advisor.families.star_tree.recommend.asked_shape import UnanswerableShape
from starskip.advisor.families.star_tree.recommend.candidates import RefusedTree
from starskip.advisor.families.star_tree.recommend.star_tree_candidates import NO_TREES, StarTreeCandidates
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME
from starskip.advisor.families.verdict import Verdict

_MOST_REFUSED = 20
_MOST_BY_STARSKIP = 50


def star_tree_properties(
    chosen: AnswersChosen,
    candidates: StarTreeCandidates = NO_TREES,
) -> Mapping[str, Any]:
    """Return ``star_trees``, in the order in which queries try them, and facts on the other trees.

    Each tree has ``config`` as Pinot's ``starTreeIndexConfigs`` has it, ``documents`` and ``size_bytes`` as
    estimated, ``saving_ratio`` of all entries in filter and post filter, and ``shapes``: for each shape that
    it answers, the documents that a mean query reads. ``refused_star_trees`` have ``config``, ``reason``,
    ``detail`` and ``size_bytes``. ``unanswerable_by_star_trees`` counts queries by the reason why no tree
    answers them in Pinot. ``answered_by_starskip_only``: the shapes among them that a tree of ``star_trees``
    answers on the lake, with ``reason`` and ``detail`` why Pinot does not. ``star_trees_note`` says why there
    is no candidate. ``star_trees_in_force``: the trees of the table's configuration, with ``config`` and the
    ids of the ``shapes`` that each tree answers.
    """
    unanswerable: Counter[str] = Counter()
    for shape in candidates.unanswerable:
        unanswerable[shape.reason] += round(shape.queries)
    total = max(candidates.total_entries, 1.0)
    refused = [each for each in chosen.refused if each[0].index.family == STAR_TREE_NAME]
    return {
        "star_trees": [
            {
                "config": tree.detail.config.to_document(),
                "documents": round(tree.detail.documents),
                "size_bytes": round(tree.detail.size_bytes),
                "saving_ratio": float(chosen.saving_entries(position) / total),
                "shapes": {
                    shape_id: float(tree.entries_read[shape_id]) for shape_id in chosen.shapes_of(position)
                },
            }
            for position, tree in enumerate(chosen.answers)
            if tree.index.family == STAR_TREE_NAME
        ],
        "refused_star_trees": [
            *(_refused_answer(*each) for each in refused[:_MOST_REFUSED]),
            *map(_refused, candidates.refused[: max(_MOST_REFUSED - len(refused), 0)]),
        ],
        "unanswerable_by_star_trees": dict(unanswerable.most_common()),
        "answered_by_starskip_only": [
            {"shape_id": shape.shape_id, "reason": shape.reason, "detail": shape.detail}
            for shape in _by_starskip_only(chosen, candidates)[:_MOST_BY_STARSKIP]
        ],
        "star_trees_note": candidates.note,
        "star_trees_in_force": [
            {"config": tree.to_document(), "shapes": list(candidates.in_force.shapes_of(position))}
            for position, tree in enumerate(candidates.in_force.trees)
        ],
    }


def offered_tree_properties(chosen: AnswersChosen, offer: AnswerOffer | None) -> Mapping[str, Any]:
    """Return the properties of a table's trees; ``offer``: the candidates that they were chosen from."""
    if offer is None or offer.detail is None:
        return star_tree_properties(chosen)
    return star_tree_properties(chosen, offer.detail)


def _by_starskip_only(chosen: AnswersChosen, candidates: StarTreeCandidates) -> list[UnanswerableShape]:
    """Return the shapes that a chosen tree answers on the lake and not in Pinot, the heaviest first."""
    configs = [each.detail.config for each in chosen.answers if each.index.family == STAR_TREE_NAME]
    found = [
        shape
        for shape in candidates.unanswerable
        if shape.by_starskip is not None
        and shape.entries_scanned > 0
        and any(shape.by_starskip.fits(config) for config in configs)
    ]
    return sorted(found, key=lambda shape: (-shape.entries_scanned, shape.shape_id))


def _refused(item: RefusedTree) -> Mapping[str, Any]:
    return {
        "config": item.config.to_document(),
        "reason": item.reason,
        "detail": item.detail,
        "size_bytes": None if item.size_bytes is None else round(item.size_bytes),
    }


def _refused_answer(answer: AnswerCandidate, verdict: Verdict) -> Mapping[str, Any]:
    tree = answer.detail
    return _refused(RefusedTree(tree.config, verdict.code, verdict.detail, tree.size_bytes))
