"""A family that returns rubbish changes nothing of the advice on the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_choice import in_force
from law_cases import law_cases
from settings_with import settings_with
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries, Unit
from starskip.advisor.families.column_indexes import INVERTED, RANGE
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.family import AccessPath, Family, Obstacle
from starskip.advisor.families.family_faults import without_faulty
from starskip.advisor.families.guarded_family import guarded
from starskip.advisor.families.index import Index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.advised_edits import advised_edits, write_out
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.cli.tune_document import tune_document
from starskip.pinot.proposed_config import with_edits
from starskip.pinot.table_config import TableConfig
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

CONFIG = TableConfig("t", document={"tableName": "t", "tableIndexConfig": {"x": ["y"], "z": 1}})
ENTRIES = {"a = 1": 4_000, "b = 2 AND c < 3": 2_500, "c > 7": 1_500}
COLUMNS = {name: ColumnOverview(name, "INT", cardinality=100.0) for name in "abc"}


def shape(where: str, entries: int) -> ShapeWorkload:
    cut = normalize_sql(f"select count(*) from t where {where}")
    instances = {cut.literals: Instance(10, entries)}
    shape_id = query_shape(cut.skeleton).shape_id
    return ShapeWorkload("t", shape_id, where, cut.skeleton, 10, 0, entries, 0.0, 700, instances=instances)


SHAPES = [shape(*each) for each in ENTRIES.items()]
VOTED = pa.Table.from_pylist(
    [
        {
            "table": "t",
            "shape_id": voter.shape_id,
            "leg": 0,
            "structures": [index],
            "saving_entries": saving,
            "saving_entries_squared": saving**2,
            "saving_entries_cross": saving**2,
            "saving_priced_entries": saving,
            "is_complete": True,
        }
        for voter, index, saving in zip(
            SHAPES, ("inverted:a", "inverted:b", "range:c"), (3_000.0, 2_000.0, 900.0), strict=True
        )
    ],
    VOTES,
)

NUMBERS = st.sampled_from([0.0, 1, 50.5, 1e15, -3.0, nan, inf, -inf, "12", None, True, 10**400])
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["x", "", "\ud800", nan, {1}, b"x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "z", 3]), inner),
    max_leaves=4,
)
CONFIGS = JSON | st.fixed_dictionaries({"tableIndexConfig": JSON})
NAMES = st.sampled_from(["a", "b", "ghost", "", 3, None])
SHAPE_IDS = st.sampled_from([*(each.shape_id for each in SHAPES), "deadbeef", 3])
CANDIDATES = st.builds(
    AnswerCandidate,
    st.builds(Index, st.sampled_from(["rubbish", "rubbish", "rubbish", "inverted"]), NAMES),
    st.tuples(st.sampled_from("abc")) | st.lists(NAMES) | st.just("a"),
    st.dictionaries(SHAPE_IDS, NUMBERS, max_size=2) | JSON,
    size_bytes=NUMBERS,
    config=CONFIGS,
    is_exclusive=st.booleans() | st.just("yes"),
    rank=NUMBERS,
    entries_read=st.just({}) | st.dictionaries(SHAPE_IDS, NUMBERS, max_size=1),
    unit=st.none() | st.builds(Unit, st.sampled_from(["segments", "", 3]), NUMBERS),
)
RIGHT = st.builds(
    AnswerCandidate,
    st.builds(Index, st.just("rubbish"), st.text("abc", min_size=1)),
    st.just(("a",)),
    st.dictionaries(st.sampled_from([each.shape_id for each in SHAPES]), st.floats(0, 1_500), min_size=1),
    size_bytes=st.none() | st.floats(0, 1e9),
    config=st.just({"tableIndexConfig": {"x": ["new"]}}),
    is_exclusive=st.booleans(),
    unit=st.none() | st.just(Unit("segments", 9.0)),
)
OFFERS = JSON | st.builds(
    AnswerOffer,
    st.tuples(CANDIDATES) | st.tuples(RIGHT) | st.lists(CANDIDATES | RIGHT, max_size=2) | JSON,
    answered=st.just(frozenset()) | st.frozensets(SHAPE_IDS, max_size=1) | JSON,
    max_answers=st.none() | NUMBERS,
    total_entries=st.just(0.0) | st.just(8_700.0) | NUMBERS,
    gain_bytes=st.none() | NUMBERS,
)


def returning(value: Any, error: BaseException | None) -> Callable[..., Any]:
    def function(*_arguments: Any) -> Any:
        if error is not None:
            raise error
        return value

    return function


def functions(values: Any) -> Any:
    errors = st.sampled_from([None] * 6 + [ValueError("x 'secret'"), SystemExit(4), RecursionError()])
    return st.builds(returning, values, errors)


PATHS = st.builds(
    AccessPath,
    functions(st.booleans() | JSON),
    functions(st.none() | st.builds(Obstacle, NAMES, NAMES) | JSON),
    st.none() | functions(NUMBERS),
)
FAMILIES = st.builds(
    Family,
    st.just("rubbish"),
    st.just("rubbish"),
    st.just("heaps"),
    path=st.none() | PATHS,
    answer=functions(OFFERS),
    document=st.none() | functions(JSON),
    properties=st.none() | functions(JSON),
)
RIGHT_ONES = st.builds(
    Family,
    st.just("rubbish"),
    st.just("rubbish"),
    st.just("heaps"),
    answer=functions(
        st.builds(AnswerOffer, st.lists(RIGHT, max_size=3), max_answers=st.none() | st.integers(0, 2))
    ),
)


def told(*own: Family) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of tune and the table config, with the families besides inverted and range."""
    known = FamilyChoice((INVERTED, RANGE, *own), (INVERTED, RANGE, *own))
    overview = TableOverview("t", 1, 1_000, COLUMNS, in_force())

    def work(names: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        used = known.without(names)
        question = TableQuestion("t", SHAPES, VOTED, overview, settings_with(), used, configs=(CONFIG,))
        advice = advise_table(question)
        write_out(advice, used, (CONFIG,))
        return tune_document(advice, used), with_edits(CONFIG, advised_edits(advice, used.known))

    (document, config), faults = without_faulty({}, work)
    assert "secret" not in str(faults)
    return {**document, "not_used": faults}, config


@pytest.mark.law
@settings(max_examples=law_cases("STARSKIP_RUBBISH_CASES", 150), deadline=None)
@given(FAMILIES | RIGHT_ONES)
def test_rubbish_changes_nothing_of_the_others(family: Family) -> None:
    document, config = told(guarded(family, "rubbish_module"))
    plain, plain_config = told()
    json.dumps([document, config], allow_nan=False)
    if document.pop("not_used"):
        plain.pop("not_used")
        assert document == plain
        assert config == plain_config
        return
    answers = sum(each["saving_ratio"] for each in document["indexes"] if each["family"] == "rubbish")
    assert 0 <= document["predicted_saving_ratio"] + answers <= 1 + 1e-9
    assert 0 <= document["combined"]["saving_ratio"] <= 1
    assert config["tableIndexConfig"]["x"][0] == "y"
    assert config["tableIndexConfig"]["z"] == 1
    assert config["tableName"] == "t"


def test_answers_that_overlap_on_a_shape_do_not_add_up() -> None:
    """Each saves 80 % of the same shapes: so do both."""

    def answering(name: str, ratio: float, unit: Unit | None = None) -> Family:
        def answer(queries: TableQueries) -> AnswerOffer:
            saved = {shape: ratio * each.entries for shape, each in queries.window.items()}
            return AnswerOffer((AnswerCandidate(Index(name, "a"), ("a",), saved, unit=unit),))

        return guarded(Family(name, name, name, answer=answer), "own")

    document, _ = told(answering("one", 0.8), answering("other", 0.8))
    assert document["combined"]["saving_ratio"] <= 0.8
    document, _ = told(answering("one", 0.9), answering("other", 0.9, Unit("bytes", 1e9)))
    of_filters = sum(ENTRIES.values())
    whole = pytest.approx(of_filters / (of_filters + 700 * len(SHAPES)))
    assert sum(each["saving_ratio"] for each in document["indexes"]) == whole
    assert document["combined"]["saving_ratio"] == whole
