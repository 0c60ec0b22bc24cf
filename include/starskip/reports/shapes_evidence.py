"""Query shapes of a table as evidence of its report: each with the advice's saving and its plans."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.chosen_trees import ChosenTree
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.night import Night
from starskip.advisor.selection.vote_list import IndexSet, VoteList, building_lists, vote_lists
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import UnsupportedQuery
from starskip.reports.advice_evidence import column_label
from starskip.reports.log_values import PlannedPredicate, ShapeEvidence
from starskip.settings import Settings
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import MAX_TEXT, mask_literals
from starskip.sql.predicate import Leaf, Operator, leaves
from starskip.sql.query_shape import parsed_shape
from starskip.sql.query_text import query_text

MAX_PREDICATES = 12
"""Predicates of one shape that a report shows."""
_COMPARISONS = {
    Operator.EQUAL: "equal to a value",
    Operator.NOT_EQUAL: "other than a value",
    Operator.IN: "in a list",
    Operator.NOT_IN: "not in a list",
    Operator.RANGE: "in a range",
    Operator.LIKE: "like a pattern",
    Operator.REGEXP_LIKE: "like a regular expression",
    Operator.IS_NULL: "is null",
    Operator.IS_NOT_NULL: "is not null",
    Operator.OWN_INDEX: "by an index of its own",
    Operator.EXPRESSION: "within an expression",
}


@dataclass(frozen=True, slots=True)
class IndexesToday:
    """The indexes of a table before the advice.

    ``held_trees``: the star-trees of its config, ``in_force``: its indexes on columns.
    """

    rules: AccessRules
    in_force: IndexSet
    sorted_columns: frozenset[str]
    held_trees: Sequence[ChosenTree]


def shape_votes(night: Night, table: str) -> Mapping[str, list[VoteList]]:
    """Return the votes of a table for indexes to build, by shape."""
    votes: dict[str, list[VoteList]] = {}
    for item in building_lists(vote_lists(published(night, "votes").read_table([table]))):
        votes.setdefault(item.shape_id, []).append(item)
    return votes


def shapes_evidence(
    night: Night,
    workload: Sequence[ShapeWorkload],
    votes: Mapping[str, Sequence[VoteList]],
    chosen: IndexSet,
    trees: Sequence[ChosenTree],
    today: IndexesToday,
    skip_options: Mapping[str, str | None],
) -> list[ShapeEvidence]:
    """Return all shapes; the report numbers the chosen ``trees`` behind the trees of today.

    ``skip_options``: by shape, the statement that spares it the chosen indexes.
    """
    total = sum(shape.weight * shape.entries_scanned for shape in workload) or 1.0
    read: dict[str, tuple[int, float]] = {}
    for number, chosen_tree in enumerate(trees, 1 + len(today.held_trees)):
        for shape_id, documents in chosen_tree.shapes.items():
            read[shape_id] = number, documents or 0.0
    held = frozenset().union(*(each.shapes for each in today.held_trees))
    found = []
    for shape in workload:
        tree = read.get(shape.shape_id)
        values = _shape(
            shape,
            votes.get(shape.shape_id, []),
            chosen,
            tree,
            shape.weight * shape.entries_scanned / total,
            night.settings,
        )
        before, after = _entries_a_query(shape, values, tree)
        helping = chosen if tree is None else frozenset[Index]()
        plan = shape_plan(shape.skeleton, today.rules, today.sorted_columns, today.in_force, helping)
        found.append(
            replace(
                values,
                skip_option=skip_options.get(shape.shape_id),
                entries_a_query=before,
                entries_a_query_advised=after,
                plan=plan if shape.is_parsed else (),
                tree_today=shape.shape_id in held,
            )
        )
    return found


def _entries_a_query(
    shape: ShapeWorkload, values: ShapeEvidence, tree: tuple[int, float] | None
) -> tuple[float | None, float | None]:
    """Return all entries that a mean query reads, today and with the advice; None without queries."""
    if not shape.queries:
        return None, None
    before = shape.entries_scanned / shape.queries
    if tree is not None:
        read = shape.failed_entries_scanned_in_filter + (shape.queries - shape.failed) * tree[1]
        return before, read / shape.queries
    saved = values.predicted_saving_ratio * shape.entries_scanned_in_filter / shape.queries
    return before, before - saved


def _shape(
    shape: ShapeWorkload,
    lists: Sequence[VoteList],
    chosen: IndexSet,
    tree: tuple[int, float] | None,
    share: float,
    settings: Settings,
) -> ShapeEvidence:
    """Return one shape; ``tree``: number of the chosen star-tree that answers it, and the documents read.

    ``share``: of all entries of the table's queries.
    """
    entries = shape.weighted_entries
    saving_ratio = 0.0
    if tree is None:
        built = frozenset(s for item in lists for s in item.indexes if s in chosen)
        if entries:
            saving_ratio = sum(item.saving(built).entries for item in lists) / entries
        helpers = tuple(sorted(map(column_label, built)))
    else:
        behind = settings.of(StarTreeSettings).post_filter_entry_weight * shape.entries_scanned_post_filter
        scanned = shape.entries_scanned_in_filter + behind
        # Failed queries scan as before: no advice counts them as saved.
        read = shape.failed_entries_scanned_in_filter + (shape.queries - shape.failed) * tree[1]
        if scanned:
            saving_ratio = max(1.0 - read / scanned, 0.0)
        helpers = (f"star-tree {tree[0]}",)
    example = next(iter(shape.instances), None)
    show = settings.reports.show_literals and shape.is_parsed and example is not None
    return ShapeEvidence(
        shape_id=shape.shape_id,
        masked_text=mask_literals(shape.text, quoted_names=True)
        if shape.is_parsed
        else mask_unparsed(shape.text, limit=MAX_TEXT),
        queries=shape.queries,
        entries_scanned_in_filter=shape.entries_scanned_in_filter,
        all_entries_ratio=share,
        predicted_saving_ratio=saving_ratio,
        columns=helpers,
        latency_ms=shape.latency_ms_mean,
        full_text=query_text(shape.skeleton, example) if show and example is not None else None,
    )


def shape_plan(
    skeleton: str,
    rules: AccessRules,
    sorted_columns: Collection[str],
    in_force: Collection[Index],
    chosen: Collection[Index],
) -> tuple[PlannedPredicate, ...]:
    """Return the first predicates of a shape, in the order of its text; none if it is not understood."""
    try:
        found = list(leaves(parsed_shape(skeleton).filter))
    except UnsupportedQuery:
        return ()

    def served(leaf: Leaf, indexes: Collection[Index]) -> str | None:
        orders = [each.name for each in rules.families if rules.reorders(each.name)]
        of_order = orders if leaf.column in sorted_columns else []
        of_column = sorted(index.family for index in indexes if index.column == leaf.column)
        return next((family for family in (*of_order, *of_column) if rules.serves(family, leaf)), None)

    return tuple(
        PlannedPredicate(
            leaf.column or ", ".join(leaf.columns),
            _COMPARISONS[leaf.operator],
            served(leaf, in_force),
            served(leaf, in_force) or served(leaf, chosen),
        )
        for leaf in found[:MAX_PREDICATES]
    )
