"""Star-trees as a night recommends them, for queries and rows that a benchmark has."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.families.star_tree.recommend.asked_shape import (
    AnswerableShape,
    AskedShape,
    answerable_shape,
)
from starskip.advisor.families.star_tree.recommend.candidates import candidate_trees
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.advisor.families.star_tree.recommend.lake_sample import lake_sample
from starskip.advisor.families.star_tree.recommend.star_tree_offer import answer_of
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.selection.chosen_answers import AnswerTerms, chosen_answers
from starskip.advisor.selection.recommendation import Budget
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.settings import Settings
from starskip.star_tree.build.source_table import SourceTable
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.storage_for import storage_for

MOST_CANDIDATES = 6


def answerable_shapes(
    asked: Iterable[AskedShape], types: Mapping[str, pa.DataType], table: str
) -> list[AnswerableShape]:
    """Return the shapes that some star-tree answers."""
    parsed = [answerable_shape(shape, types, (), table) for shape in asked]
    return [shape for shape in parsed if isinstance(shape, AnswerableShape)]


def sample_for(
    engine: Engine,
    table: str,
    source: SourceTable,
    shapes: Sequence[AnswerableShape],
    *,
    also_used: Sequence[Dimensions] = (),
    also_measured: Collection[str] = (),
) -> TableSample:
    """Return what the rows tell of trees for ``shapes``, and of the dimensions and columns named besides."""
    used = [shape.dimensions for shape in shapes if shape.dimensions]
    measured = {pair.column for shape in shapes for pair in shape.pairs} - {"*"}
    run_tasks = EngineTasks(engine).run_tasks
    with tempfile.TemporaryDirectory() as folder:
        aside = ArtefactStore(storage_for(folder)).staged_write(ARTEFACT, CURRENT)
        return lake_sample(run_tasks, aside, table, source, [*also_used, *used], measured | {*also_measured})


def recommended_trees(
    sample: TableSample, shapes: Sequence[AnswerableShape], budget: Budget, terms: AnswerTerms
) -> tuple[StarTreeConfig, ...]:
    """Return the trees that are chosen where no index is a candidate."""
    ratio = Settings().of(StarTreeSettings).max_tree_size_ratio
    offered = candidate_trees(sample, shapes, max_size_ratio=ratio, most=MOST_CANDIDATES)
    candidates = list(map(answer_of, offered.candidates))
    chosen = chosen_answers(candidates, [], budget, terms.total_entries, {STAR_TREE.name: terms})
    return tuple(answer.detail.config for answer in chosen.answers)
