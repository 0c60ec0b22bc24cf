"""The rows and properties of ``recommendations`` as parts of a report's evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.families.star_tree.report.star_tree_evidence import (
    STAR_TREES_KEY,
    StarTreeEvidence,
    star_tree_entry,
    star_tree_words,
)
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.selection.vote_list import IndexSet, VoteList, total_saving
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.column_key import LaidOver
from starskip.pinot.given_config import GivenConfig
from starskip.pinot.proposed_config import BUILT_BY_RELOAD, KeyEdit
from starskip.pinot.star_trees_key import StarTreesKey
from starskip.reports.advice_values import (
    AdvisedAction,
    ChosenAnswer,
    ChosenIndex,
    ConfigChange,
    Interval,
    KCurve,
    KeyChange,
    KPoint,
    NamedIndex,
    ReasonedIndex,
    SortOrder,
)
from starskip.reports.evidence_json import harmless_json


def config_change(
    chosen: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    configured: Mapping[str, Sequence[str]] | None,
    properties: Mapping[str, Any],
    trees: StarTreeEvidence | None = None,
    given: GivenConfig | None = None,
    families: Sequence[Family] = BUILT_IN,
    answers: Sequence[ChosenAnswer] = (),
) -> ConfigChange:
    """Return the edit of the table config; ``configured`` and ``given`` are None if there is none to read.

    ``trees``: the night's star-trees; trees that the config lacks are part of the change.
    """
    drops = [row for row in rows if row["verdict"] == "drop"]
    in_force = [parse_index(text) for text in properties.get("in_force", ())]
    keys: dict[str, KeyChange] = {}
    edits: list[KeyEdit] = []
    answering: dict[str, list[Any]] = {}
    for each in answers:
        answering.setdefault(each.kind, []).append(each.config)
    laid_over = {
        kind: KeyChange(None, tuple(map(harmless_json, of_kind))) for kind, of_kind in answering.items()
    }
    for family in families:
        if family.config is None or family.path is None:
            continue
        # Without a config only the indexes of the built segments are known.
        known = configured.get(family.name, ()) if configured is not None else _columns(in_force, family)
        dropped = [row["column"] for row in drops if row["kind"] == family.name]
        added = [row["column"] for row in chosen if row["kind"] == family.name]
        edits.append(family_edit(family, added, dropped, answering.pop(family.name, ())))
        proposed = tuple(dict.fromkeys([*(column for column in known if column not in dropped), *added]))
        if family is families[0] or known or proposed:
            current = tuple(known) if configured is not None or known else None
            keys[family.config.key] = KeyChange(current, proposed)
    new_trees = trees.proposed if trees else ()
    held = given.star_trees if given else ()
    if held or new_trees:
        keys[STAR_TREES_KEY] = KeyChange(
            tuple(map(star_tree_words, held)) if given else None,
            tuple(map(star_tree_words, (*held, *map(star_tree_entry, new_trees)))),
        )
    if new_trees:
        built = given.builds_trees_on_reload if given else None
        told = None if built is None else str(built).lower()
        keys |= {key: KeyChange(told, "true") for key in BUILT_BY_RELOAD if not built}
    edits.append(KeyEdit(StarTreesKey(), [star_tree_entry(tree) for tree in new_trees]))
    keys |= laid_over
    by_name = {family.name: family for family in families}
    edits += [
        family_edit(by_name[kind], (), (), of_kind) if kind in by_name else KeyEdit(LaidOver(kind), of_kind)
        for kind, of_kind in answering.items()
    ]
    config, hidden = given.proposed(edits) if given else (None, ())
    return ConfigChange(
        keys=keys,
        add=(
            *(NamedIndex(row["kind"], (row["column"],)) for row in chosen),
            *(NamedIndex(STAR_TREE.name, tree.dimensions) for tree in new_trees),
        ),
        drop=tuple(NamedIndex(row["kind"], (row["column"],)) for row in drops),
        star_trees=held,
        config=config,
        hidden_keys=hidden,
        current=given.current if given else None,
    )


def _columns(indexes: Sequence[Index], family: Family) -> tuple[str, ...]:
    return tuple(item.column for item in indexes if item.family == family.name)


def chosen_answers(properties: Mapping[str, Any]) -> tuple[ChosenAnswer, ...]:
    """Return the chosen indexes that serve whole queries; star-trees have a section of their own."""
    return tuple(
        ChosenAnswer(
            kind=each["family"],
            columns=tuple(each["columns"]),
            saving_ratio=each["saving_ratio"],
            size_bytes=each["size_bytes"],
            shapes_helped=len(each["shapes"]),
            config=each["config"],
            saving=each.get("saving"),
        )
        for each in properties.get("answers", ())
        if each["family"] != STAR_TREE.name
    )


def tree_functions(index: AdvisedIndex) -> tuple[str, ...]:
    """Return the functions of an advised star-tree, which its columns do not name; none of another index."""
    if index.family != STAR_TREE.name or not index.config:
        return ()
    return tuple(map(str, StarTreesKey().entry_of(index.config).get("functionColumnPairs") or ()))


def refused_answers(properties: Mapping[str, Any]) -> tuple[ReasonedIndex, ...]:
    """Return the refused candidates that serve whole queries; star-trees have a section of their own."""
    return tuple(
        ReasonedIndex(
            each["kind"], tuple(each["columns"]), each["reason"], each["detail"], each["size_bytes"]
        )
        for each in properties.get("refused_answers", ())
        if each["kind"] != STAR_TREE.name
    )


def column_label(structure: Index) -> str:
    """Return the column, followed by the kind if it is not the usual one."""
    return (
        structure.column
        if structure.family == BUILT_IN[0].name
        else f"{structure.column} ({structure.family})"
    )


def sort_order(properties: Mapping[str, Any]) -> SortOrder | None:
    """Return the sort order that was judged, None if none was."""
    order = properties.get("sort_order")
    if order is None:
        return None
    saving = order["saving"]
    return SortOrder(
        column=order["column"],
        current=tuple(properties.get("sorted_columns", ())),
        saving_ratio=saving["ratio"],
        interval=Interval(saving["low"], saving["high"]),
    )


def chosen_index(row: Mapping[str, Any]) -> ChosenIndex:
    """Return a chosen row."""
    return ChosenIndex(
        kind=row["kind"],
        columns=(row["column"],),
        individual_saving_ratio=row["individual_saving_ratio"],
        progressive_saving_ratio=row["progressive_saving_ratio"],
        size_bytes=row["size_bytes"],
        shapes_helped=row["shapes_helped"],
    )


def reasoned_index(row: Mapping[str, Any]) -> ReasonedIndex:
    """Return a row that was refused or is to be dropped."""
    return ReasonedIndex(row["kind"], (row["column"],), row["reason"], row["detail"], row["size_bytes"])


def k_curve(properties: Mapping[str, Any], chosen_k: int) -> KCurve:
    """Return the curve over K."""
    points = tuple(
        KPoint(
            point["k"],
            (
                *map(column_label, map(parse_index, point["structures"])),
                *(f"{', '.join(each['columns'])} ({each['family']})" for each in point["answers"]),
            ),
            point["saving"]["ratio"],
            Interval(point["saving"]["low"], point["saving"]["high"]),
        )
        for point in properties["curve"]
    )
    return KCurve(points, chosen_k, properties["stop"], properties.get("gap_ratio", 0.0))


def advised_actions(
    indexes: Sequence[AdvisedIndex],
    workload: Sequence[ShapeWorkload],
    votes: Mapping[str, Sequence[VoteList]],
    chosen: IndexSet,
) -> tuple[AdvisedAction, ...]:
    """Return an action for each of the advised ``indexes``; ``votes``: by shape, for indexes on columns.

    A shape that an index serves whole counts for that index alone.
    """
    answered = frozenset().union(*(each.shapes for each in indexes))
    queries = sum(shape.queries for shape in workload) or 1
    found = []
    for each in indexes:
        added = _added(each, votes, chosen, answered)
        helped = {*each.shapes, *(shape for shape, saved in added.items() if saved > 0)}
        found.append(
            AdvisedAction(
                each.name,
                each.family,
                each.columns,
                tree_functions(each),
                each.is_drop,
                each.saving_ratio,
                each.saving_ms,
                each.size_bytes,
                len(helped),
                sum(shape.queries for shape in workload if shape.shape_id in helped) / queries,
                sum(saved < 0 for saved in added.values()),
            )
        )
    return tuple(found)


def _added(
    index: AdvisedIndex,
    votes: Mapping[str, Sequence[VoteList]],
    chosen: IndexSet,
    answered: frozenset[str],
) -> Mapping[str, float]:
    """Return the entries that an index on a column saves by shape, beside the other chosen ones."""
    if index.is_drop or len(index.columns) != 1:
        return {}
    own = Index(index.family, index.columns[0])
    if own not in chosen:
        return {}
    return {
        shape: total_saving(lists, chosen) - total_saving(lists, chosen - {own})
        for shape, lists in votes.items()
        if shape not in answered and any(own in each.indexes for each in lists)
    }
