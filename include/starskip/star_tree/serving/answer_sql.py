"""Answer SQL as Arrow from the first star-tree that fits, else from the table's own files.

The steps of "Star-tree index: Powering fast aggregations on Pinot", "Query execution": check the metadata,
traverse the tree, apply remaining predicates, aggregate; "fall back to normal aggregation if no one is
qualified".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import UnsupportedQuery
from starskip.star_tree.aggregation_query import AggregationQuery, aggregation_query
from starskip.star_tree.documents import sorted_runs
from starskip.star_tree.measure import Measure
from starskip.star_tree.query.group_expressions import GroupExpression
from starskip.star_tree.query.sql_select import bounded_depth
from starskip.star_tree.scalar_expressions import Grouping, ScalarExpressions
from starskip.star_tree.serving.answer_from_files import answer_from_files
from starskip.star_tree.serving.finished_answer import Approximation, finished_answer
from starskip.star_tree.serving.fitting_tree import FittingTree, fitting_tree
from starskip.star_tree.serving.star_tree import ScanRequest, ScanResult, StarTree
from starskip.star_tree.serving.tree_set import TreeSet

WRONG_QUERIES = frozenset(
    {
        *("too_long", "too_deep", "syntax", "not_a_select", "unknown_column"),
        *("ordinal", "argument", "literal_type", "not_computed", "placeholder", "aggregate_in_filter"),
        "another_table",
    }
)
"""Reasons that lie in the query itself: the table's files would not answer it either."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``table``: the rows. ``star_tree``: whether a tree gave them; if not, ``reason`` is a sentence.

    ``documents_read`` of ``documents_total`` count the tree's documents, or rows of the table's files.
    ``tree``: the tree's position among the configured ones. ``approximations``: the columns that are not
    exact.
    """

    table: pa.Table
    star_tree: bool
    reason: str | None
    documents_read: int
    documents_total: int
    tree: int | None
    approximations: tuple[Approximation, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """``query`` and the tree that fits it, or the reason why there is none."""

    query: AggregationQuery | None
    tree: FittingTree | None
    reason: str | None


def answer_sql(trees: TreeSet, sql: str, dialect: str = "pinot") -> Answer:
    """Return the answer of one SELECT, in the dialect "pinot" or "spark".

    Without LIMIT all groups are returned. If ``trees`` is held open, the currently published trees answer.
    Raises UnsupportedQuery for a query that cannot be answered at all, or is over another table; StaleTree if
    the table's files changed since the trees were built.
    """

    def answer(current: TreeSet) -> Answer:
        found = _from_tree(current, sql, dialect, None)
        return found if isinstance(found, Answer) else _from_files(current, sql, dialect, found)

    return trees.with_current(answer)


def answer_from_tree(
    trees: TreeSet, sql: str, dialect: str = "pinot", *, most_documents: int | None = None
) -> Answer | str:
    """Return a tree's answer, or a sentence that says why no tree answers.

    ``most_documents``: an answer that reads more is left to an engine with more than one process. Raises as
    ``answer_sql`` does.
    """
    return trees.with_current(lambda current: _from_tree(current, sql, dialect, most_documents))


@bounded_depth()
def _from_tree(trees: TreeSet, sql: str, dialect: str, most_documents: int | None) -> Answer | str:
    plan = trees.memory.parsed(sql, dialect, lambda text, of: _plan(trees, text, of))
    if plan.query is None or plan.tree is None:
        return plan.reason or "no star-tree fits"
    trees.require_unchanged()
    expressions = trees.memory.expressions
    tree = trees.trees[plan.tree.position]
    request = trees.memory.requests.get((sql, dialect))
    if request is None:
        # Writing a list of thousands of values as SQL takes far longer than reading for it.
        request = _request(plan.query, plan.tree, tree, expressions)
        size_bytes = len(sql) + sum(mask.nbytes for mask in request.masks.values())
        trees.memory.requests.keep((sql, dialect), request, size_bytes)
    if most_documents is not None and (wanted := tree.traverse(request).documents) > most_documents:
        return f"the tree would read {wanted:,} documents; more than {most_documents:,} are left to Spark"
    scanned = tree.scan(request)
    values, measures = _grouped_rows(scanned, plan.query.group_by, tree, expressions)
    asked = {measure: measures[kept] for measure, kept in plan.tree.kept.items()}
    table, approximations = finished_answer(plan.query, values, asked, trees.memory.database)
    return Answer(
        table=table,
        star_tree=True,
        reason=None,
        documents_read=scanned.documents_read,
        documents_total=tree.documents_total,
        tree=plan.tree.position,
        approximations=approximations,
    )


def _plan(trees: TreeSet, sql: str, dialect: str) -> _Plan:
    columns = trees.published.schema.names
    try:
        schema = trees.published.schema
        query = aggregation_query(sql, dialect, columns, answers_to=trees.answers_to, schema=schema)
    except UnsupportedQuery as error:
        if error.reason in WRONG_QUERIES:
            raise
        return _Plan(None, None, str(error))
    if query.is_template:
        raise UnsupportedQuery("the query has a ? in place of a value", reason="placeholder")
    found = fitting_tree(query, trees.trees)
    if isinstance(found, FittingTree):
        return _Plan(query, found, None)
    return _Plan(query, None, found)


def _request(
    query: AggregationQuery, fit: FittingTree, tree: StarTree, expressions: ScalarExpressions
) -> ScanRequest:
    masks: dict[str, npt.NDArray[np.bool_]] = {}
    for each in query.conjuncts:
        column = each.column
        if column is None:
            if not expressions.is_true(each.expression):
                first = tree.config.dimensions_split_order[0]
                masks[first] = np.zeros(len(tree.dictionary(first)) + 1, np.bool_)
            continue
        mask = expressions.mask(column, column, tree.dictionary(column), each.expression)
        masks[column] = masks[column] & mask if column in masks else mask
    return ScanRequest(
        # A predicate that all values pass is no condition: the star then stands for all values.
        masks={column: mask for column, mask in masks.items() if not _passes_all(mask, column, tree)},
        group_by=tuple(dict.fromkeys(group.column for group in query.group_by)),
        measures=tuple(dict.fromkeys(fit.kept.values())),
    )


def _passes_all(mask: npt.NDArray[np.bool_], column: str, tree: StarTree) -> bool:
    """Return whether every value in the table passes; null, the last, counts only if the column has nulls."""
    return bool(mask.all() if column in tree.columns_with_nulls else mask[:-1].all())


def _grouped_rows(
    scanned: ScanResult, groups: Sequence[GroupExpression], tree: StarTree, expressions: ScalarExpressions
) -> tuple[list[pa.Array], Mapping[Measure, Any]]:
    """Return an array of values for each of ``groups``, and the measures of these groups."""
    groupings = [_grouping(group, tree, expressions) for group in groups]
    keys = [
        scanned.codes[group.column] if grouping is None else grouping.codes[scanned.codes[group.column]]
        for group, grouping in zip(groups, groupings, strict=True)
    ]
    measures = scanned.measures
    if any(grouping is not None for grouping in groupings):
        keys, measures = _merged(keys, _sizes(groups, groupings, tree), measures)
    values = [
        _values(tree.dictionary(group.column), key)
        if grouping is None
        else grouping.values.take(pa.array(key))
        for group, grouping, key in zip(groups, groupings, keys, strict=True)
    ]
    return values, measures


def _grouping(group: GroupExpression, tree: StarTree, expressions: ScalarExpressions) -> Grouping | None:
    if group.is_plain:
        return None
    return expressions.grouping(group.column, group.column, tree.dictionary(group.column), group.expression)


def _sizes(
    groups: Sequence[GroupExpression], groupings: Sequence[Grouping | None], tree: StarTree
) -> list[int]:
    return [
        tree.star_code(group.column) if grouping is None else max(len(grouping.values), 1)
        for group, grouping in zip(groups, groupings, strict=True)
    ]


def _merged(
    keys: list[npt.NDArray[np.int32]], sizes: Sequence[int], measures: Mapping[Measure, Any]
) -> tuple[list[npt.NDArray[np.int32]], Mapping[Measure, Any]]:
    if not len(keys[0]):
        return keys, measures
    order, starts = sorted_runs(keys, sizes)
    merged = {
        measure: (array if order is None else array.take(order)).merged(starts)
        for measure, array in measures.items()
    }
    return [(key if order is None else key[order])[starts] for key in keys], merged


def _values(dictionary: pa.Array, codes: npt.NDArray[np.int32]) -> pa.Array:
    """Return the values of codes; the code behind the last value is null's."""
    return dictionary.take(pa.array(codes, mask=codes == len(dictionary)))


def _from_files(trees: TreeSet, sql: str, dialect: str, reason: str | None) -> Answer:
    source = trees.sources()
    table, rows_read, rows_total = answer_from_files(source, sql, dialect, trees.answers_to)
    return Answer(
        table=table,
        star_tree=False,
        reason=reason,
        documents_read=rows_read,
        documents_total=rows_total,
        tree=None,
        approximations=(),
    )
