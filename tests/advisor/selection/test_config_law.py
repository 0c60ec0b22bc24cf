"""Advice applied as a whole breaks no rule of table configs that the given one keeps, and loses nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from settings_with import settings_with
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries
from starskip.advisor.families.config_limits import edit_faults, with_config_limits
from starskip.advisor.families.families import BUILT_IN, FamilyChoice, configured_indexes
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.advised_edits import advised_edits
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.proposed_config import with_edits
from starskip.pinot.table_config import TableConfig, table_config
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

NAMES = "abcd"
VERSIONS = ("0.11", "0.12", "1.0", "1.1", "1.3", "1.4", "1.5")
OF_COLUMNS = ("inverted", "range", "sorted")
ENTRIES = 1_000_000

names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
trees = st.builds(
    lambda order, pair: {"dimensionsSplitOrder": order, "functionColumnPairs": [pair]},
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    st.sampled_from(["COUNT__*", "SUM__a", "SUM__b", "NOSUCH__a", "DISTINCTCOUNTHLL__c"]),
)
fields = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES), "encodingType": st.sampled_from(["RAW", "DICTIONARY", "dictionary"])},
    optional={
        "indexTypes": st.lists(st.sampled_from(["INVERTED", "TEXT", "FST"]), max_size=1),
        "indexes": st.dictionaries(
            st.sampled_from(["inverted", "range", "dictionary"]), st.sampled_from([{}, {"disabled": True}])
        ),
    },
)
index_configs = st.fixed_dictionaries(
    {},
    optional={
        "invertedIndexColumns": names,
        "rangeIndexColumns": names,
        "noDictionaryColumns": names,
        "noDictionaryConfig": names.map(lambda found: dict.fromkeys(found, "LZ4")),
        "sortedColumn": names,
        "starTreeIndexConfigs": st.lists(trees, max_size=1),
    },
)
documents = st.fixed_dictionaries(
    {"tableName": st.just("t"), "tableIndexConfig": index_configs},
    optional={
        "fieldConfigList": st.lists(fields, max_size=2),
        "upsertConfig": st.just({"mode": "FULL"}),
        "dedupConfig": st.just({"dedupEnabled": True}),
    },
)
columns = st.fixed_dictionaries(
    {
        name: st.builds(
            ColumnOverview,
            st.just(name),
            st.sampled_from(["INT", "STRING", "TIMESTAMP", "BOOLEAN", "MAP"]),
            st.just(100.0),
            st.just(1.0),
            st.booleans(),
        )
        for name in NAMES
    }
)
fragments = st.lists(
    st.one_of(
        st.builds(lambda tree: {"tableIndexConfig": {"starTreeIndexConfigs": [tree]}}, trees),
        st.builds(lambda found: {"tableIndexConfig": {"noDictionaryColumns": found}}, names),
        st.builds(lambda found: {"fieldConfigList": [found]}, fields),
    ),
    max_size=3,
)


def question(
    document: dict[str, Any], known: dict[str, ColumnOverview], own: list[dict[str, Any]], version: str
) -> TableQuestion:
    config = table_config(document)
    answers = [
        AnswerCandidate(Index("own", f"own{n}"), ("a",), {"x": 1.0}, config=each)
        for n, each in enumerate(own)
    ]

    def answer(queries: TableQueries) -> AnswerOffer:
        saving = {queries.shapes[0].shape_id: 600_000.0}
        return AnswerOffer(tuple(replace(each, saving_entries=saving) for each in answers))

    family = Family("own", "an own index", "own indexes", answer=answer)
    families = (*BUILT_IN[:3], family)
    overview = TableOverview("t", 1, 1000, known)
    configs = {"t": (config,)}
    in_force = configured_indexes(configs, families)["t"]
    overview = replace(overview, in_force={name: frozenset(found) for name, found in in_force.items()})
    overview = with_config_limits({"t": overview}, configs, families, version)["t"]
    shapes = [shape(name) for name in NAMES]
    return TableQuestion(
        "t",
        shapes,
        votes(shapes),
        overview,
        settings_with(pinot_version=version, min_drop_queries=1, max_indexes=6),
        FamilyChoice(families, families),
        configs=(config,),
    )


def shape(column: str) -> ShapeWorkload:
    cut = normalize_sql(f"select count(*) from t where {column} = 1")
    squared = float(ENTRIES) ** 2 / 100
    return ShapeWorkload(
        "t",
        query_shape(cut.skeleton).shape_id,
        cut.skeleton,
        cut.skeleton,
        queries=100,
        entries_scanned_in_filter=ENTRIES,
        entries_scanned_in_filter_squared=squared,
        instances={cut.literals: Instance(100, ENTRIES, squared)},
    )


def votes(shapes: list[ShapeWorkload]) -> pa.Table:
    rows = [
        {
            "table": "t",
            "shape_id": voter.shape_id,
            "leg": leg,
            "structures": [f"{family}:{name}"],
            "saving_entries": 900_000.0 - leg,
            "saving_entries_squared": 900_000.0**2,
            "saving_entries_cross": 900_000.0**2,
            "saving_priced_entries": 900_000.0 - leg,
            "is_complete": True,
        }
        for name, voter in zip(NAMES, shapes, strict=True)
        for leg, family in enumerate(OF_COLUMNS)
    ]
    return pa.Table.from_pylist(rows, VOTES)


def proposed(asked: TableQuestion, advice: TableAdvice) -> dict[str, Any]:
    return with_edits(asked.configs[0], advised_edits(advice, asked.families.known))


@pytest.mark.law
@settings(max_examples=law_cases("STARSKIP_CONFIG_CASES", 150))
@given(documents, columns, fragments, st.sampled_from(VERSIONS))
def test_the_proposed_config_breaks_no_rule_and_loses_nothing(
    document: dict[str, Any], known: dict[str, ColumnOverview], own: list[dict[str, Any]], version: str
) -> None:
    asked = question(document, known, own, version)
    advice = advise_table(asked)
    assert asked.overview is not None
    edits = advised_edits(advice, asked.families.known)
    assert edit_faults(asked.overview, asked.configs, edits, version) == ()
    after: TableConfig = table_config(proposed(asked, advice))
    dropped = {drop.index for drop in advice.drops}
    for family, found in asked.overview.in_force.items():
        held = {"inverted": after.inverted_index_columns, "range": after.range_index_columns}.get(family, ())
        assert {name for name in found if Index(family, name) not in dropped} <= set(held)
    assert set(map(str, asked.configs[0].star_tree_index_configs)) <= set(
        map(str, after.star_tree_index_configs)
    )


def test_answers_that_contradict_each_other_are_not_both_advised() -> None:
    raw = {"tableIndexConfig": {"noDictionaryColumns": ["a"]}}
    known = {name: ColumnOverview(name, cardinality=100.0) for name in NAMES}
    asked = question({"tableName": "t"}, known, [raw], "0.11")
    advice = advise_table(asked)
    written = proposed(asked, advice)["tableIndexConfig"]
    assert not set(written.get("invertedIndexColumns", ())) & set(written.get("noDictionaryColumns", ()))
    assert written["invertedIndexColumns"]


def test_an_upsert_table_gets_no_star_tree() -> None:
    tree = {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["COUNT__*"]}
    own = [{"tableIndexConfig": {"starTreeIndexConfigs": [tree]}}]
    known = {name: ColumnOverview(name, cardinality=100.0) for name in NAMES}
    advice = advise_table(question({"tableName": "t", "upsertConfig": {"mode": "FULL"}}, known, own, "1.5"))
    (_, verdict) = advice.answers.refused[0]
    assert verdict.code == "breaks_config_rule"
    assert "an upsert table cannot have a star-tree (rule upsert_star_tree)" in verdict.detail
