"""Query shapes of a workload, with the dimensions and pairs that a star-tree needs to answer them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.advisor.families.star_tree.recommend.pinot_aggregation import PinotQuery, pinot_query
from starskip.advisor.families.star_tree.recommend.tree_read import TreeRead, TreeReading
from starskip.errors import ConfigError, UnsupportedQuery, printable
from starskip.pinot.star_tree_filter import NotServed
from starskip.pinot.star_tree_matching import WITHOUT_TREES, Pair, SegmentColumns, TreePart, tree_parts
from starskip.pinot.star_tree_rules import StarTreeRules
from starskip.star_tree.aggregation_query import aggregation_query, tree_demand
from starskip.star_tree.function_column_pair import AggregationFunction, FunctionColumnPair
from starskip.star_tree.query.conjuncts import Conjunct, conjuncts
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.validate_config import validate_config

COUNT_PAIR = FunctionColumnPair(AggregationFunction.COUNT, "*")


@dataclass(frozen=True, slots=True)
class AskedShape:
    """Queries of one shape: their number, the entries that they scan together, and some of their texts.

    ``examples``: at least one text, each with the number of queries that it stands for.
    """

    shape_id: str
    queries: float
    entries_scanned: float
    examples: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class AnswerableShape:
    """A shape that a tree of ``dimensions`` and ``pairs`` answers.

    ``examples``: reads of a tree by the shape's queries, each with its share of the queries.
    ``columns_read``: the columns of a document that a query reads. ``reads_as_pinot``: entries are counted as
    Pinot counts them, else as Starskip reads its own trees.
    """

    shape_id: str
    queries: float
    entries_scanned: float
    dimensions: Dimensions
    pairs: tuple[FunctionColumnPair, ...]
    examples: tuple[tuple[TreeRead, float], ...]
    columns_read: int
    reads_as_pinot: bool = False

    @property
    def needs_sketch(self) -> bool:
        """Return whether some aggregation is approximate."""
        return any(measure.kind.is_sketch for pair in self.pairs for measure in pair.measures)

    def fits(self, config: StarTreeConfig) -> bool:
        """Return whether a tree of ``config`` answers it: Pinot looks for pairs, Starskip for measures."""
        if not self.dimensions <= {*config.dimensions_split_order}:
            return False
        if not self.reads_as_pinot:
            wanted = {measure for pair in self.pairs for measure in pair.measures}
            return wanted <= {*config.measures}
        kept = {_as_pinot(pair) for pair in config.function_column_pairs}
        return {_as_pinot(pair) for pair in self.pairs} <= kept

    def entries_read(self, reading: TreeReading) -> float:
        """Return the entries that a query with this ``reading`` of a tree reads."""
        if self.reads_as_pinot:
            return reading.entries_in_filter + reading.documents_scanned * self.columns_read
        return reading.documents * self.columns_read

    def saving_entries(self, entries_read: float) -> float:
        """Return the entries saved if each query reads ``entries_read``; negative if that is more."""
        return self.entries_scanned - self.queries * entries_read


@dataclass(frozen=True, slots=True)
class UnanswerableShape:
    """A shape that no tree answers: ``reason`` is a code, ``detail`` says why.

    ``entries_scanned``: by its queries today. ``by_starskip``: the shape's needs of a tree of Starskip's own,
    which answers it on the lake; None if none does.
    """

    shape_id: str
    queries: float
    reason: str
    detail: str
    entries_scanned: float = 0.0
    by_starskip: AnswerableShape | None = None


@dataclass(frozen=True, slots=True)
class PinotReads:
    """``pairs`` and ``dimensions`` that a tree must have, and a read for each FILTER of the query.

    ``columns_projected``: the columns whose entries Pinot counts post filter, for each document scanned.
    """

    pairs: tuple[FunctionColumnPair, ...]
    dimensions: tuple[str, ...]
    reads: tuple[TreeRead, ...]
    columns_projected: int


def pinot_reads(
    sql: str, columns: Collection[str], facts: SegmentColumns, rules: StarTreeRules
) -> PinotReads | NotServed:
    """Return the reads of a tree by ``sql`` in a Pinot of ``rules``, or why Pinot uses no tree.

    ``columns``: the columns of the table. Raises UnsupportedQuery unless ``sql`` is one SELECT of one table.
    """
    query = pinot_query(sql, columns)
    parts = tree_parts(query.aggregation, rules, facts)
    if isinstance(parts, NotServed):
        return parts
    pairs: dict[FunctionColumnPair, None] = {}
    for pair in (pair for part in parts for pair in part.pairs):
        kept = _kept_pair(pair)
        if kept is None:
            return NotServed("function", f"no star-tree of Starskip's keeps {printable(pair[0], 60)}")
        pairs[kept] = None
    dimensions = dict.fromkeys(
        name for part in parts for name in (*part.predicate_columns, *part.group_by_columns)
    )
    try:
        reads = tuple(_read_of_part(query, part) for part in parts)
    except UnsupportedQuery as error:
        return NotServed(error.reason, str(error))
    projected = len(query.aggregation.group_by_columns) + len(parts[0].pairs)
    return PinotReads(tuple(pairs), tuple(dimensions), reads, projected)


def _kept_pair(pair: Pair) -> FunctionColumnPair | None:
    function, column = pair
    if function not in AggregationFunction.__members__:
        return None
    return FunctionColumnPair(AggregationFunction(function), column)


def _read_of_part(query: PinotQuery, part: TreePart) -> TreeRead:
    filters = [query.where] if query.where is not None else []
    if part.condition is not None:
        filters.append(query.conditions[part.condition])
    joined: list[exp.Expr] = [exp.paren(each) for each in filters]
    found = conjuncts(exp.and_(*joined)) if joined else ()
    return TreeRead(found, part.group_by_columns)


def answerable_shape(
    asked: AskedShape,
    types: Mapping[str, pa.DataType],
    multi_value: Collection[str],
    table: str,
    rules: StarTreeRules | None = None,
    *,
    raw: Collection[str] = (),
    nulls: Collection[str] = (),
) -> AnswerableShape | UnanswerableShape:
    """Return what ``asked`` needs of a tree, or why no tree answers it; ``types``: of the table's columns.

    With ``rules``, a Pinot with these rules has to use the tree; without them, Starskip itself. ``raw``:
    columns without a dictionary in Pinot; ``nulls``: columns with nulls.
    """
    ours = _of_starskip(asked, types, multi_value, table)
    if rules is None:
        return ours
    by_starskip = ours if isinstance(ours, AnswerableShape) else None
    facts = SegmentColumns(frozenset(raw), frozenset(multi_value), frozenset(nulls))
    try:
        found = [(pinot_reads(sql, types, facts, rules), weight) for sql, weight in asked.examples]
    except UnsupportedQuery as error:
        return _unanswerable(asked, error.reason, str(error), by_starskip)
    first = found[0][0]
    if not isinstance(first, PinotReads):
        # A query that does without star-trees wants none of Starskip's either.
        by_starskip = None if first.reason == WITHOUT_TREES else by_starskip
        return _unanswerable(asked, first.reason, first.detail, by_starskip)
    # Perhaps a tree answers all texts of the shape but one, such as a list that is always true.
    reads = [(each, weight) for each, weight in found if isinstance(each, PinotReads)]
    total = sum(weight for _, weight in reads)
    return _answerable(
        asked,
        types,
        table,
        pairs=first.pairs,
        examples=tuple((read, weight / total) for each, weight in reads for read in each.reads),
        columns_read=first.columns_projected,
        dimensions=first.dimensions,
        reads_as_pinot=True,
    )


def _of_starskip(
    asked: AskedShape, types: Mapping[str, pa.DataType], multi_value: Collection[str], table: str
) -> AnswerableShape | UnanswerableShape:
    try:
        parsed = [(aggregation_query(sql, "pinot", types), weight) for sql, weight in asked.examples]
    except UnsupportedQuery as error:
        return _unanswerable(asked, error.reason, str(error))
    query = parsed[0][0]
    demand = tree_demand(query)
    found = dict.fromkeys(FunctionColumnPair(call.function, call.column) for call in query.aggregates)
    pairs = tuple(found) or (COUNT_PAIR,)
    columns = {*demand.predicate_columns, *demand.group_by_columns, *(pair.column for pair in pairs)}
    several = sorted(columns & set(multi_value))
    if several:
        detail = f"column {printable(several[0], 60)} is multi-value, which a star-tree cannot hold"
        return _unanswerable(asked, "multi_value", detail)
    dimensions = (*dict.fromkeys((*demand.predicate_columns, *demand.group_by_columns)),)
    total = sum(weight for _, weight in parsed)
    examples = tuple(
        (_read(query.conjuncts, demand.group_by_columns), weight / total) for query, weight in parsed
    )
    return _answerable(
        asked,
        types,
        table,
        pairs=pairs,
        examples=examples,
        columns_read=len(dimensions) + len(demand.measures),
        dimensions=dimensions,
    )


def _read(conjuncts: Sequence[Conjunct], group_by_columns: Sequence[str]) -> TreeRead:
    return TreeRead(tuple(conjuncts), tuple(group_by_columns))


def _answerable(
    asked: AskedShape,
    types: Mapping[str, pa.DataType],
    table: str,
    *,
    pairs: tuple[FunctionColumnPair, ...],
    examples: tuple[tuple[TreeRead, float], ...],
    columns_read: int,
    dimensions: Sequence[str],
    reads_as_pinot: bool = False,
) -> AnswerableShape | UnanswerableShape:
    try:
        # A tree needs some dimension; any dimension does for this check.
        validate_config(StarTreeConfig((*dimensions,) or (next(iter(types)),), pairs), types, table=table)
    except ConfigError as error:
        return _unanswerable(asked, "config", str(error))
    return AnswerableShape(
        shape_id=asked.shape_id,
        queries=asked.queries,
        entries_scanned=asked.entries_scanned,
        dimensions=frozenset(dimensions),
        pairs=pairs,
        examples=examples,
        columns_read=columns_read,
        reads_as_pinot=reads_as_pinot,
    )


def _unanswerable(
    asked: AskedShape, reason: str, detail: str, by_starskip: AnswerableShape | None = None
) -> UnanswerableShape:
    return UnanswerableShape(
        asked.shape_id, asked.queries, reason, detail, asked.entries_scanned, by_starskip
    )


def _as_pinot(pair: FunctionColumnPair) -> FunctionColumnPair:
    return COUNT_PAIR if pair.function is AggregationFunction.COUNT else pair
