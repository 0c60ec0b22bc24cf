"""Random tables with random trees, and questions that these answer."""

from __future__ import annotations

import pyarrow as pa
from answers_law.predicates import predicates
from answers_law.question import Aggregate, Group, Junction, Predicate, Question
from answers_law.tables import POOLS, random_table
from hypothesis import strategies as st
from starskip.star_tree.star_tree_config import StarTreeConfig

QUESTIONS_A_TABLE = 6
DIMENSIONS = [name for name in POOLS if not name.startswith("m_")]
NUMBERS = ["m_int", "m_small", "m_dec", "m_float", "d_dec", "d_int"]
PAIRS = [
    "COUNT__*",
    *(f"COUNT__{name}" for name in ("m_small", "m_text", "m_wild")),
    *(f"{function}__{name}" for function in ("SUM", "AVG", "MINMAXRANGE") for name in NUMBERS),
    *(f"{function}__{name}" for function in ("MIN", "MAX") for name in POOLS),
    *(f"{function}__m_wild" for function in ("SUM", "AVG", "MINMAXRANGE")),
    *(f"DISTINCTCOUNTHLL__{name}" for name in ("m_small", "m_text", "m_date", "d_text", "m_dec", "m_wild")),
    *(
        f"{function}__{name}"
        for function in ("PERCENTILEEST", "PERCENTILETDIGEST")
        for name in ("m_small", "m_float", "m_wild")
    ),
]
GROUP_TEMPLATES = {
    "d_int": ["abs({c})", "CASE WHEN {c} > 1 THEN 'many' ELSE 'few' END", "{c} + 1"],
    "d_text": ["upper({c})", "length({c})", "substr({c}, 1, 1)"],
    "d_date": ["date_trunc('month', {c})", "year({c})", "date_trunc('week', {c})", "quarter({c})"],
    "d_time": ["date_trunc('hour', {c})", "date_trunc('day', {c})", "hour({c})"],
    "d_zone": ["date_trunc('day', {c})"],
    "d_bool": ["coalesce({c}, false)"],
    "d_dec": ["floor({c})"],
}
Case = tuple[pa.Table, int, tuple[StarTreeConfig, ...], tuple[int, int], list[Question]]
"""Rows, how many of them come first, trees, rows and documents a task of the build, questions."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, seed = draw(st.sampled_from([0, 1, 3, 10, 30, 60, 60, 120, 120])), draw(st.integers(0, 2**32))
    trees = tuple(draw(st.lists(configs(), min_size=1, max_size=3)))
    asked = [draw(questions(draw(st.sampled_from(trees)))) for _ in range(QUESTIONS_A_TABLE)]
    table = random_table(rows, seed)
    tasks = draw(st.sampled_from([(4_000_000, 1_000_000), (7, 1_000_000), (7, 5)]))
    return table, draw(st.integers(0, rows)), trees, tasks, asked


@st.composite
def configs(draw: st.DrawFn) -> StarTreeConfig:
    dimensions = draw(st.permutations(DIMENSIONS))[: draw(st.sampled_from([2, 1, 3, 4, 5]))]
    skipped = draw(st.lists(st.sampled_from(dimensions), max_size=2, unique=True))
    counted = draw(st.sampled_from([[], ["COUNT__*"], ["COUNT__m_small"]]))
    pairs = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=6, unique=True))
    return StarTreeConfig.from_document(
        {
            "dimensionsSplitOrder": dimensions,
            "skipStarNodeCreationForDimensions": skipped,
            "functionColumnPairs": list(dict.fromkeys([*counted, *pairs])),
            "maxLeafRecords": draw(st.sampled_from([1, 1, 2, 3, 5, 10, 100])),
        }
    )


@st.composite
def questions(draw: st.DrawFn, config: StarTreeConfig) -> Question:
    dimensions = config.dimensions_split_order
    # Lists of Hypothesis are mostly short; their lengths are drawn apart.
    wanted = draw(st.sampled_from([1, 1, 0, 1, 1, 2, 3]))
    filtered = [draw(st.sampled_from(dimensions)) for _ in range(wanted)]
    where = tuple(draw(predicates(column)) for column in filtered)
    grouped = draw(st.permutations(dimensions))[: draw(st.sampled_from([1, 1, 0, 2, 3]))]
    groups = tuple(
        Group(c, draw(st.sampled_from(["{c}", "{c}", *GROUP_TEMPLATES.get(c, [])]))) for c in grouped
    )
    pairs = draw(
        st.lists(st.sampled_from(config.function_column_pairs), min_size=0 if groups else 1, max_size=3)
    )
    ranks = st.sampled_from([0, 25, 50, 95, 100])
    own = tuple(Aggregate(p.function.value, p.column, draw(ranks)) for p in pairs)
    aggregates = tuple(draw(st.sampled_from([each, each, *shared(each, dimensions)])) for each in own)
    exact = [i for i, each in enumerate(aggregates) if _orders(each)]
    order: list[tuple[int, bool]] = []
    if draw(st.booleans()):
        order = [(len(groups) + i, draw(st.booleans())) for i in exact if draw(st.booleans())]
        order += [(i, draw(st.booleans())) for i in range(len(groups))]
    counted = [a for a in aggregates if a.function == "COUNT"]
    having = (
        (counted[0], draw(st.sampled_from([">", "<=", "="])), draw(st.integers(0, 4)))
        if counted and draw(st.booleans())
        else None
    )
    limit = (draw(st.integers(0, 5)), draw(st.integers(0, 2)))
    is_nor = len(where) > 1 and draw(st.integers(0, 4)) == 0
    return Question(
        where=_anded(where, is_nor=is_nor),
        groups=groups,
        aggregates=aggregates,
        having=having,
        order=tuple(order),
        limit=limit if groups and draw(st.booleans()) else None,
        dialect=draw(st.sampled_from(["pinot", "spark"])),
        by_position=draw(st.booleans()),
        is_shared_count=any(each.function == "COUNT" and each not in own for each in aggregates),
    )


def shared(each: Aggregate, dimensions: tuple[str, ...]) -> list[Aggregate]:
    """Functions that are made of the same measures; counts are, where a column has no nulls."""
    match each.function:
        case "AVG":
            return [Aggregate("SUM", each.column), Aggregate("COUNT", each.column)]
        case "MINMAXRANGE":
            return [Aggregate("MIN", each.column), Aggregate("MAX", each.column)]
        case "COUNT":
            return [Aggregate("COUNT", dimensions[-1] if each.column == "*" else "*")]
    return []


def _orders(each: Aggregate) -> bool:
    if each.function in ("SUM", "MIN", "MAX", "COUNT"):
        return each.column not in ("m_float", "m_wild", "d_float")
    return False


def _anded(parts: tuple[Predicate | Junction, ...], *, is_nor: bool) -> Predicate | Junction | None:
    if is_nor:
        return Junction("NOT", (Junction("OR", parts),))
    return Junction("AND", parts) if len(parts) > 1 else parts[0] if parts else None
