"""The advice for one table, from what its queries voted for (seed 000, II.3 C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import pyarrow as pa

from starskip.cost.alternatives import SORTED_BY_ANOTHER
from starskip.cost.baseline_scores import frequency_scores, parser_scores
from starskip.cost.parser_selectivity import INVERTED_ORDER, SORTED_ORDER
from starskip.cost.planned_votes import (
    candidate_columns,
    candidate_structures,
    indexes_in_force,
    rules_of,
)
from starskip.cost.voting_shapes import voting_queries, voting_shapes
from starskip.indexes.index import Structure
from starskip.indexes.star_tree.recommend.star_tree_candidates import NO_TREES, StarTreeCandidates
from starskip.indexes.star_tree.recommend.trees_in_force import (
    NO_TREES_IN_FORCE,
    TreesInForce,
    trees_in_force,
)
from starskip.indexes.star_tree.star_tree_config import StarTreeConfig
from starskip.pinot.index_rules import index_rules
from starskip.selection.drop_evidence import drop_evidence
from starskip.selection.entries_percentile import DesirableEntries, entries_percentile
from starskip.selection.exclusive_orders import exclusive_orders
from starskip.selection.filtered_columns import (
    answering_indexes,
    columns_without_votes,
    without_enough_queries,
    without_segments,
)
from starskip.selection.look_back import NightVotes, look_back
from starskip.selection.model_error import model_error_ratio
from starskip.selection.past_nights import NO_PAST, PastNights, night_votes
from starskip.selection.recommend import recommend
from starskip.selection.recommendation import Budget, Recommendation, Refused
from starskip.selection.tree_choice import answered_by_trees, chosen_star_trees
from starskip.selection.unneeded_indexes import Drop, unneeded_indexes
from starskip.selection.vote_list import StructureSet, VoteList, building_lists, lists_of, order_lists
from starskip.selection.with_star_trees import ChosenTrees
from starskip.settings import Settings
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_entries import ShapeEntries
from starskip.workload.shape_workload import ShapeWorkload
from starskip.workload.unlogged_texts import (
    NOTHING_REDACTED,
    UnloggedTexts,
    unlogged_texts,
)

TreeSource = Callable[
    [Mapping[str, ShapeEntries], Sequence[StarTreeConfig], TreesInForce], StarTreeCandidates
]
"""Gives candidate star-trees: for what shapes scanned in filter, the last advice, and trees in force."""


@dataclass(frozen=True, slots=True)
class TypicalEntries:
    """Entries in filter that a share of the queries stays within, today and with the chosen indexes."""

    query_ratio: float
    today: float
    advised: float


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice for one table: what to build, what is refused for other reasons, what to drop.

    ``sort_order``: the one column to sort by, beside the indexes of today; None where that was not asked.
    ``drops_withheld``: why drops were not judged, empty if they were. ``asked``: the indexes in force that
    answer a query. ``nights``: how many nights voted. ``unlogged_``: what the broker dropped from its
    log, as estimated. ``star_trees``: those chosen beside the indexes, which the queries of other shapes
    voted for; ``star_tree_candidates``: what they were chosen from; ``trees_in_force``: those of the table's
    configuration, whose shapes vote for nothing. ``unlogged_texts``: what the broker redacted; ``leaves``:
    queries that were leaves of multi-stage queries.
    """

    table: str
    recommendation: Recommendation
    refused: tuple[Refused, ...]
    drops: tuple[Drop, ...]
    queries: int
    failed: int
    unparsed: int
    shapes: int
    entries: int
    typical: TypicalEntries | None = None
    sort_order: Recommendation | None = None
    nights: int = 1
    in_force: StructureSet = frozenset()
    sorted_columns: frozenset[str] = frozenset()
    asked: StructureSet = frozenset()
    drops_withheld: str = ""
    unlogged_queries: float = 0.0
    unlogged_entries: float = 0.0
    star_trees: ChosenTrees = field(default_factory=ChosenTrees)
    star_tree_candidates: StarTreeCandidates = NO_TREES
    trees_in_force: TreesInForce = NO_TREES_IN_FORCE
    unlogged_texts: UnloggedTexts = NOTHING_REDACTED
    leaves: int = 0


def advise_table(
    table: str,
    shapes: Sequence[ShapeWorkload],
    votes: pa.Table,
    overview: TableOverview | None,
    settings: Settings,
    index_kind: str = "inverted",
    *,
    past: PastNights = NO_PAST,
    size_bytes: Mapping[Structure, int] | None = None,
    tree_source: TreeSource | None = None,
    configured_trees: Sequence[StarTreeConfig] = (),
    leaves: int = 0,
) -> TableAdvice:
    """Return the advice for one table from its WORKLOAD shapes and VOTES.

    ``overview`` is None for a table without segments, which nothing can be recommended for.
    ``index_kind``: one kind, or "all" for those of the settings, with the sort order beside them.
    ``tree_source`` gives the candidate star-trees for the shapes of the window; ``configured_trees`` are
    those of the table's configuration.
    """
    parsed = [shape for shape in shapes if shape.is_parsed]
    queries = voting_queries(shapes, settings.workload.entries_scanned_threshold)
    is_enough = queries >= settings.workload.num_queries_threshold
    if not is_enough:
        votes, past = votes.slice(0, 0), NO_PAST
    uses = [(parsed_shape(shape.skeleton), shape.queries) for shape in parsed]
    kinds = settings.advice.column_index_kinds if index_kind == "all" else [index_kind]
    rules = rules_of(overview, settings) if overview else index_rules(settings.scoring.pinot_version)
    asked = answering_indexes(uses, indexes_in_force(overview), rules) if overview else frozenset()
    tonight = night_votes(shapes, votes, overview, asked)
    earlier = past.comparable_with(tonight)
    window = _judged(look_back(tonight, earlier), overview, index_kind, settings)
    held = trees_in_force(configured_trees, shapes, overview, settings, window.shapes)
    left = replace(window, lists=[votes for votes in window.lists if votes.shape_id not in held.answered])
    ranking = [shape for shape in parsed if shape.shape_id not in held.answered] if is_enough else ()
    ranked = _baseline_ranking(settings, ranking, overview, index_kind)
    is_order = index_kind == "sorted"
    texts = unlogged_texts(shapes)
    budget = _budget(settings, window, shapes, texts)
    offer = tree_source(window.shapes, past.star_trees, held) if tree_source and is_enough else NO_TREES
    trees = chosen_star_trees(offer, left, budget, settings, size_bytes, past)
    unanswered = trees.unanswered(left.lists)
    orders = exclusive_orders(order_lists(unanswered)) if "sorted" in kinds else []
    lists = orders if is_order else building_lists(unanswered)
    if budget.storage_bytes is not None:
        budget = replace(budget, storage_bytes=budget.storage_bytes - ceil(trees.size_bytes))
    order = (
        # Sorting needs no room.
        recommend(
            orders,
            window.entries,
            replace(budget, max_indexes=1, storage_bytes=None, desirable=None),
            ranked=ranked if is_order else None,
            kept=past.order,
        )
        if "sorted" in kinds
        else None
    )
    if is_order:
        assert order is not None
        recommendation, order = order, None
    else:
        recommendation = recommend(
            lists, window.entries, budget, ranked=ranked, size_bytes=size_bytes, kept=past.chosen
        )
    voted = {s for votes_of in window.lists for s in votes_of.structures if s.removed is None}
    without_votes: tuple[Refused, ...] = ()
    if kinds and not is_enough:
        least = settings.workload.num_queries_threshold
        without_votes = without_enough_queries(uses, kinds[0], rules, queries, least)
    elif not overview:
        without_votes = without_segments(uses, rules)
    elif kinds:
        without_votes = columns_without_votes(uses, overview, voted, kinds, rules)
    nights = [tonight, *(votes_of for _, votes_of in earlier)]
    evidence = drop_evidence(nights)
    withheld = (
        evidence.lack(settings.advice.min_drop_queries, settings.advice.max_drop_unparsed_ratio)
        if tonight.in_force
        else ""
    )
    return TableAdvice(
        table=table,
        recommendation=recommendation,
        refused=recommendation.refused + answered_by_trees(window, lists, is_order=is_order) + without_votes,
        drops=_drops(window, recommendation, kinds, settings, str(evidence))
        if parsed and is_enough and not withheld
        else (),
        drops_withheld=withheld,
        queries=sum(shape.queries for shape in shapes),
        failed=round(sum(shape.failed for shape in shapes)),
        unparsed=sum(shape.queries for shape in shapes if not shape.is_parsed),
        shapes=len(parsed),
        entries=sum(shape.entries_scanned_in_filter for shape in shapes),
        unlogged_queries=sum((shape.unlogged_queries for shape in shapes), start=0.0),
        unlogged_entries=sum((shape.unlogged_entries_scanned_in_filter for shape in shapes), start=0.0),
        typical=_typical(window, lists, recommendation, trees, settings),
        sort_order=order,
        nights=len(nights),
        in_force=tonight.in_force,
        asked=asked,
        sorted_columns=tonight.order,
        star_trees=trees,
        star_tree_candidates=offer,
        trees_in_force=held,
        unlogged_texts=texts,
        leaves=leaves,
    )


def _typical(
    window: NightVotes,
    lists: Sequence[VoteList],
    recommendation: Recommendation,
    trees: ChosenTrees,
    settings: Settings,
) -> TypicalEntries | None:
    if not window.shapes:
        return None
    ratio = settings.advice.desirable_query_ratio
    chosen = [item.structure for item in recommendation.chosen]
    today = entries_percentile([], [], window.shapes, ratio)
    advised = {
        shape_id: replace(shape, entries=shape.queries * trees.documents_read(shape_id))
        if shape_id in trees.answered
        else shape
        for shape_id, shape in window.shapes.items()
    }
    return TypicalEntries(ratio, today, entries_percentile(lists, chosen, advised, ratio))


def _budget(
    settings: Settings, window: NightVotes, shapes: Sequence[ShapeWorkload], texts: UnloggedTexts
) -> Budget:
    wanted = settings.advice.desirable_entries_scanned_in_filter
    return Budget(
        settings.advice.max_indexes,
        settings.advice.min_gain_ratio,
        model_error_ratio(shapes, texts, settings.advice.model_error_ratio),
        storage_bytes=settings.advice.index_budget_bytes,
        switch_gain_ratio=settings.advice.switch_gain_ratio,
        desirable=None
        if wanted is None
        else DesirableEntries(wanted, settings.advice.desirable_query_ratio, window.shapes),
    )


def _judged(
    window: NightVotes, overview: TableOverview | None, index_kind: str, settings: Settings
) -> NightVotes:
    """Leave out what earlier nights voted for and is no candidate tonight, such as a column that is gone."""
    found = candidate_structures(overview, index_kind, settings).values() if overview else ()
    candidates = {SORTED_BY_ANOTHER, *(item for of_column in found for item in of_column)}
    return replace(window, lists=lists_of(window.lists, candidates))


def _drops(
    window: NightVotes,
    recommendation: Recommendation,
    kinds: Sequence[str],
    settings: Settings,
    evidence: str,
) -> tuple[Drop, ...]:
    in_force = {item for item in window.in_force if item.kind in kinds}
    chosen = frozenset(item.structure for item in recommendation.chosen)
    lists = [item for item in window.lists if all(s.kind != "sorted" for s in item.structures)]
    return unneeded_indexes(
        lists,
        chosen,
        window.entries.total,
        in_force,
        window.asked,
        settings.advice.max_drop_loss_ratio,
        evidence,
    )


def _baseline_ranking(
    settings: Settings, shapes: Sequence[ShapeWorkload], overview: TableOverview | None, index_kind: str
) -> list[Structure] | None:
    if settings.scoring.strategy not in ("frequency", "parser") or overview is None:
        return None
    voting = voting_shapes(shapes, settings.workload.entries_scanned_threshold, idle_vote=False)
    threshold = settings.scoring.selectivity_threshold
    if settings.scoring.strategy == "frequency":
        found = frequency_scores(voting, overview, selectivity_threshold=threshold)
    else:
        order = SORTED_ORDER if index_kind == "sorted" else INVERTED_ORDER
        found = parser_scores(voting, overview, order=order, selectivity_threshold=threshold)
    scores = {name: value for name, value in found.items() if value > 0}
    kind = "inverted" if index_kind == "all" else index_kind
    allowed = scores.keys() & candidate_columns(overview, kind)
    return [Structure(kind, name) for name in sorted(allowed, key=lambda name: (-scores[name], name))]
