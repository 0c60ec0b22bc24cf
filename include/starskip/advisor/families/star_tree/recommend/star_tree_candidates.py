"""Find the candidate star-trees of a table for a night, from its workload, its rows and its last trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from starskip.advisor.families.answer import RowSource, TableQueries
from starskip.advisor.families.star_tree.recommend.asked_shape import (
    AnswerableShape,
    UnanswerableShape,
    answerable_shape,
)
from starskip.advisor.families.star_tree.recommend.asked_shapes import asked_shapes
from starskip.advisor.families.star_tree.recommend.candidates import (
    CandidateTree,
    RefusedTree,
    candidate_trees,
)
from starskip.advisor.families.star_tree.recommend.lake_sample import lake_sample
from starskip.advisor.families.star_tree.recommend.segment_sample import column_types, segment_sample
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.recommend.trees_in_force import NO_TREES_IN_FORCE, TreesInForce
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.errors import ConfigError, MissingExtra, SourceError, StarskipError, TransientError, printable
from starskip.extras import missing_extra
from starskip.pinot.star_tree_rules import star_tree_rules
from starskip.star_tree.build.published_trees import known_of_table
from starskip.star_tree.build.source_table import SourceFile, SourceTable, source_table
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.tables.table_overview import TableOverview

_MOST_SHAPES = 64
_MOST_CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class StarTreeCandidates:
    """Trees to choose from, refused trees, the entries of all queries, and why there is no tree, if so.

    ``unanswerable``: shapes that Pinot answers from no star-tree; Starskip's own tree would answer some of
    them. ``in_force``: the trees of the table's configuration.
    """

    candidates: tuple[CandidateTree, ...] = ()
    refused: tuple[RefusedTree, ...] = ()
    unanswerable: tuple[UnanswerableShape, ...] = ()
    total_entries: float = 0.0
    table_bytes: float = 0.0
    note: str = ""
    in_force: TreesInForce = NO_TREES_IN_FORCE


NO_TREES = StarTreeCandidates()


def star_tree_candidates(
    queries: TableQueries, rows: RowSource, held: TreesInForce = NO_TREES_IN_FORCE
) -> StarTreeCandidates:
    """Return the candidates for the table of ``queries``.

    ``held``: present trees; the shapes that they answer need no other tree. A failure here does not end the
    night: ``note`` says what could not be read.
    """
    overview, settings = queries.overview, queries.settings
    missing = missing_extra("star-trees")
    if missing:
        return StarTreeCandidates(note=missing)
    asked = asked_shapes(queries.shapes, queries.window, settings)
    total = sum((each.all_entries for each in queries.window.values()), start=0.0)
    asked = [each for each in asked if each.shape_id not in held.answered]
    if rows.lake is None and rows.segments is None:
        return StarTreeCandidates(
            total_entries=total, note="there are neither segments nor a lake table to read rows from"
        )
    try:
        source = _source(queries.table, rows)
        types, multi_value = _columns(source, overview)
        if not types:
            return StarTreeCandidates(total_entries=total, note="nothing is known of the table's columns")
        # The queries are from Pinot's log, so its matcher decides, in the version that is advised for.
        rules, raw = star_tree_rules(settings.scoring.pinot_version), _raw_columns(overview)
        nulls = overview.columns_with_nulls if overview else ()
        parsed = [
            answerable_shape(each, types, multi_value, queries.table, rules, raw=raw, nulls=nulls)
            for each in asked
        ]
        answerable = sorted(
            (each for each in parsed if isinstance(each, AnswerableShape)),
            key=lambda each: (-each.entries_scanned, each.shape_id),
        )[:_MOST_SHAPES]
        refused = tuple(each for each in parsed if isinstance(each, UnanswerableShape))
        if not answerable:
            note = "Pinot answers none of the queries from a star-tree"
            if held.answered:
                note = "the star-trees of the table config answer every query that Pinot answers from one"
            return StarTreeCandidates((), (), refused, total, 0.0, note)
        if not any(each.dimensions for each in answerable):
            return StarTreeCandidates((), (), refused, total, 0.0, "no query filters or groups by a column")
        sample = _sample(queries, source, rows, answerable)
        if not sample.parts:
            return StarTreeCandidates(
                (), (), refused, total, 0.0, "no rows could be read to estimate trees from"
            )
        within = [each for each in answerable if each.dimensions <= sample.dimensions]
        trees = candidate_trees(
            sample,
            within,
            max_size_ratio=settings.of(StarTreeSettings).max_tree_size_ratio,
            most=_MOST_CANDIDATES,
            entries_per_byte=settings.advice.min_gain_ratio
            * total
            / max(settings.of(StarTreeSettings).tree_gain_size_ratio * sample.size_bytes, 1.0),
            known=_known_trees(queries),
        )
    except TransientError:
        raise
    except (StarskipError, pa.ArrowException) as error:
        return StarTreeCandidates(total_entries=total, note=printable(str(error)))
    return StarTreeCandidates(trees.candidates, trees.refused, refused, total, table_bytes=sample.size_bytes)


def _source(table: str, rows: RowSource) -> SourceTable | None:
    """Return the lake table, None if rows of segments are to be read instead."""
    if rows.lake is None:
        return None
    try:
        lake = rows.lake
        return source_table(
            lake.path,
            lake.casts,
            _known_files(table, rows),
            file_format=lake.table_format,
            run_tasks=rows.run_tasks,
        )
    except (SourceError, MissingExtra) as error:
        # No tree is built from such a table, but Pinot's own trees are advised as if it did not exist.
        if isinstance(error, TransientError) or rows.segments is None:
            raise
        return None


def _columns(
    source: SourceTable | None, overview: TableOverview | None
) -> tuple[Mapping[str, pa.DataType], frozenset[str]]:
    if source is not None:
        types = {each.name: each.type for each in source.schema}
        return types, frozenset(name for name, type_ in types.items() if pa.types.is_nested(type_))
    if overview is None:
        return {}, frozenset()
    several = frozenset(name for name, column in overview.columns.items() if not column.is_single_value)
    return column_types(overview), several


def _raw_columns(overview: TableOverview | None) -> frozenset[str]:
    if overview is None:
        return frozenset()
    stored = (name for name, column in overview.columns.items() if not column.dictionary_ratio)
    return overview.raw_columns.union(stored)


def _sample(
    queries: TableQueries, source: SourceTable | None, rows: RowSource, shapes: Sequence[AnswerableShape]
) -> TableSample:
    used = [each.dimensions for each in shapes if each.dimensions]
    measured = {pair.column for each in shapes for pair in each.pairs} - {"*"}
    if source is not None:
        assert rows.staged is not None
        return lake_sample(rows.run_tasks, rows.staged, queries.table, source, used, measured)
    if queries.overview is None or rows.segments is None:
        return TableSample(queries.table, (), {}, 0.0, 0.0)
    return segment_sample(rows.segments(), queries.overview, used)


def _known_trees(queries: TableQueries) -> list[StarTreeConfig]:
    """Return the trees of the last advice; trees that another version wrote are left out."""
    found = []
    for document in queries.last:
        try:
            found.append(StarTreeConfig.from_document(document))
        except ConfigError:
            continue
    return found


def _known_files(table: str, rows: RowSource) -> Mapping[str, SourceFile]:
    """Return the facts of its files in the table's published star-trees; none if they cannot be read."""
    if rows.lake is None or rows.store is None:
        return {}
    try:
        return known_of_table(rows.store, table)
    except TransientError:
        raise
    except StarskipError:
        return {}
