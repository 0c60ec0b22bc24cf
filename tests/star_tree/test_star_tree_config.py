"""Configurations as Pinot writes them: read, written, and refused with the column and the rule."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import ConfigError
from starskip.star_tree.function_column_pair import AggregationFunction, FunctionColumnPair
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.validate_config import validate_config

SMALL = {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["COUNT__*"]}
TYPES: dict[str, Any] = {
    "a": pa.string(),
    "tags": pa.list_(pa.string()),
    "many": pa.large_list(pa.int64()),
    "three": pa.list_(pa.int8(), 3),
    "place": pa.struct([("x", pa.float64())]),
    "day": pa.date32(),
    "price": pa.decimal128(12, 2),
    "n": pa.int64(),
    "flag": pa.bool_(),
}


def read(**changes: Any) -> StarTreeConfig:
    return StarTreeConfig.from_document(SMALL | changes)


def test_an_entry_of_pinots_documentation_is_read_and_written() -> None:
    document = {
        "dimensionsSplitOrder": ["Country", "Browser", "Locale"],
        "skipStarNodeCreationForDimensions": ["Browser"],
        "functionColumnPairs": ["COUNT__*", "SUM__Impressions", "AVG__Impressions"],
        "maxLeafRecords": 1,
    }
    config = StarTreeConfig.from_document(document)
    assert config.dimensions_split_order == ("Country", "Browser", "Locale")
    assert config.skip_star_node_creation_for_dimensions == ("Browser",)
    assert config.max_leaf_records == 1
    # AVG is a sum and a count; the sum is shared.
    impressions = [Measure.of(kind, "Impressions") for kind in (MeasureKind.SUM, MeasureKind.COUNT)]
    assert config.measures == (COUNT_ROWS, *impressions)
    assert config.columns == ("Country", "Browser", "Locale", "Impressions")
    assert config.to_document() == document


def test_what_is_left_out_is_pinots_default() -> None:
    config = read()
    assert config.max_leaf_records == 10_000
    assert config.skip_star_node_creation_for_dimensions == ()
    nothing_said = read(maxLeafRecords=None, skipStarNodeCreationForDimensions=None, aggregationConfigs=None)
    assert nothing_said == config
    # StarTreeV2BuilderConfig: only a number above zero counts.
    assert read(maxLeafRecords=0) == read(maxLeafRecords=-1) == config


def test_aggregation_configs_are_pairs() -> None:
    config = StarTreeConfig.from_document(
        {
            "dimensionsSplitOrder": ["a"],
            "aggregationConfigs": [
                {"columnName": "price", "aggregationFunction": "sum", "compressionCodec": "LZ4"},
                {"aggregationFunction": "COUNT"},
                {"columnName": "user", "aggregationFunction": "distinctCountHLL"},
            ],
        }
    )
    assert [pair.name for pair in config.function_column_pairs] == [
        "SUM__price",
        "COUNT__*",
        "DISTINCTCOUNTHLL__user",
    ]
    assert StarTreeConfig.from_document(config.to_document()) == config


@pytest.mark.parametrize("text", ["SUM__a", "sum__a", "Sum__a"])
def test_the_case_of_a_function_does_not_matter(text: str) -> None:
    assert FunctionColumnPair.parse(text) == FunctionColumnPair(AggregationFunction.SUM, "a")


def test_a_column_may_hold_the_separator() -> None:
    assert FunctionColumnPair.parse("MAX__a__b").column == "a__b"
    assert FunctionColumnPair.parse("MAX____b").column == "__b"


@pytest.mark.parametrize("function", AggregationFunction)
def test_all_nine_functions_have_measures(function: AggregationFunction) -> None:
    measures = FunctionColumnPair(function, "x").measures
    assert measures and {measure.column for measure in measures} == {"x"}


REFUSED: list[tuple[Any, str]] = [
    ({"functionColumnPairs": ["DISTINCTCOUNT__user"]}, "DISTINCTCOUNT__user.*approximation DISTINCTCOUNTHLL"),
    ({"functionColumnPairs": ["PERCENTILE__p"]}, "PERCENTILE__p.*PERCENTILEEST or PERCENTILETDIGEST"),
    ({"functionColumnPairs": ["PERCENTILE95__p"]}, "PERCENTILE95__p.*PERCENTILEEST or PERCENTILETDIGEST"),
    ({"functionColumnPairs": ["distinct_count__u"]}, "distinct_count__u.*DISTINCTCOUNTHLL"),
    ({"functionColumnPairs": ["SUM__*"]}, r"SUM__\*: only COUNT takes \*"),
    ({"functionColumnPairs": ["AVG__*"]}, r"AVG__\*: only COUNT takes \*"),
    ({"functionColumnPairs": ["MODE__x"]}, "MODE__x: 'MODE' is no function.*COUNT, MIN, MAX"),
    ({"functionColumnPairs": ["SUM(x)"]}, r"'SUM\(x\)' is not FUNCTION__column, such as SUM__price"),
    ({"functionColumnPairs": ["SUM__"]}, "'SUM__' is not FUNCTION__column"),
    ({"functionColumnPairs": ["__x"]}, "'' is no function"),
    ({"functionColumnPairs": []}, "functionColumnPairs: needs at least one pair"),
    ({"functionColumnPairs": ["SUM__x", "sum__x"]}, "functionColumnPairs: SUM__x is there twice"),
    ({"functionColumnPairs": "SUM__x"}, "functionColumnPairs: must be a list"),
    ({"functionColumnPairs": [1]}, "functionColumnPairs: must be a list"),
    ({"functionColumnPairs": None}, "functionColumnPairs: needs at least one"),
    ({"dimensionsSplitOrder": []}, "dimensionsSplitOrder: needs at least one dimension"),
    ({"dimensionsSplitOrder": ["a", "b", "a"]}, "dimensionsSplitOrder: a is there twice"),
    ({"dimensionsSplitOrder": ["a", ""]}, "dimensionsSplitOrder: must be a list"),
    ({"dimensionsSplitOrder": {"a": 1}}, "dimensionsSplitOrder: must be a list"),
    ({"skipStarNodeCreationForDimensions": ["z"]}, "skipStar.*: z is not in dimensionsSplitOrder"),
    ({"maxLeafRecords": "10"}, "maxLeafRecords: '10' is not a whole number"),
    ({"maxLeafRecords": 1.5}, "maxLeafRecords: 1.5 is not"),
    ({"maxLeafRecords": True}, "maxLeafRecords: True is not"),
    ({"maxLeafRecord": 5}, "maxLeafRecord: is no key of a star-tree; there are aggregationConfigs"),
    ({"aggregationConfigs": [{"aggregationFunction": "COUNT"}]}, "functionColumnPairs is given too"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_wrong_entry_is_refused_with_column_and_rule(changes: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(**changes)


WRONG_AGGREGATIONS: list[tuple[Any, str]] = [
    ("SUM", "must be a list"),
    ([1], "aggregationFunction and columnName"),
    ([{"columnName": "x"}], "aggregationFunction and columnName"),
    ([{"aggregationFunction": "SUM", "columnName": 1}], "aggregationFunction and columnName"),
    ([{"aggregationFunction": "SUM"}], r"SUM__\*: only COUNT takes \*"),
]


@pytest.mark.parametrize(("configs", "message"), WRONG_AGGREGATIONS)
def test_wrong_aggregation_configs_are_refused(configs: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StarTreeConfig.from_document({"dimensionsSplitOrder": ["a"], "aggregationConfigs": configs})


OF_THE_TABLE = [
    (["tags"], ["COUNT__*"], "dimensionsSplitOrder: column tags of sales is multi-value"),
    (["many"], ["COUNT__*"], "column many of sales is multi-value"),
    (["three"], ["COUNT__*"], "column three of sales is multi-value"),
    (["place"], ["COUNT__*"], r"column place of sales is struct<x: double>; a star-tree needs plain values"),
    (["nix"], ["COUNT__*"], "dimensionsSplitOrder: sales has no column nix; it has a, tags"),
    (["a"], ["SUM__nix"], "functionColumnPairs: SUM__nix: sales has no column nix"),
    (["a"], ["SUM__tags"], "SUM__tags: column tags of sales is multi-value"),
    (["a"], ["SUM__a"], "SUM__a: column a of sales is string, not a number"),
    (["a"], ["AVG__flag"], "AVG__flag: column flag of sales is bool, not a number"),
    (["a"], ["PERCENTILEEST__day"], "PERCENTILEEST__day: column day of sales is date32"),
    (["a"], ["PERCENTILETDIGEST__a"], "PERCENTILETDIGEST__a: column a of sales is string"),
    (["a"], ["MINMAXRANGE__day"], "MINMAXRANGE__day: column day of sales is date32.*, not a number"),
]


@pytest.mark.parametrize(("order", "pairs", "message"), OF_THE_TABLE, ids=[each[2] for each in OF_THE_TABLE])
def test_what_the_table_cannot_have_is_refused_with_its_name(
    order: list[str], pairs: list[str], message: str
) -> None:
    config = read(dimensionsSplitOrder=order, functionColumnPairs=pairs)
    with pytest.raises(ConfigError, match=message):
        validate_config(config, TYPES, table="sales")


def test_what_the_table_can_have_is_not_refused() -> None:
    pairs = ["COUNT__*", "COUNT__a", "MIN__a", "MAX__day", "SUM__price", "AVG__n", "MINMAXRANGE__n"]
    pairs += ["DISTINCTCOUNTHLL__a", "DISTINCTCOUNTHLL__flag", "PERCENTILEEST__price", "PERCENTILETDIGEST__n"]
    order = ["a", "day", "price", "n", "flag"]
    validate_config(read(dimensionsSplitOrder=order, functionColumnPairs=pairs), TYPES, table="sales")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.one_of(
        JSON,
        st.fixed_dictionaries(
            {},
            optional={
                "dimensionsSplitOrder": st.lists(st.text(max_size=3), max_size=4) | JSON,
                "functionColumnPairs": st.lists(st.sampled_from(["COUNT__*", "SUM__x", "a"])) | JSON,
                "skipStarNodeCreationForDimensions": JSON,
                "aggregationConfigs": JSON,
                "maxLeafRecords": JSON,
            },
        ),
    )
)
def test_any_json_is_a_configuration_that_comes_back_or_one_line(document: Any) -> None:
    try:
        config = StarTreeConfig.from_document(document)
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) <= 500
        return
    written = json.loads(json.dumps(config.to_document()))
    assert StarTreeConfig.from_document(written) == config


def test_names_without_end_are_refused_in_one_short_line() -> None:
    name = "x\x1b[2J\n" + "y" * 1_000_000
    for changes in (
        {"dimensionsSplitOrder": [name, name]},
        {"functionColumnPairs": [f"MODE__{name}"]},
        {"functionColumnPairs": [name]},
        {name: 1},
        {"skipStarNodeCreationForDimensions": [name]},
    ):
        with pytest.raises(ConfigError) as refusal:
            read(**changes)
        assert len(str(refusal.value)) <= 500 and str(refusal.value).isprintable()


def test_a_hundred_thousand_dimensions_are_read_at_once() -> None:
    # Comparing each with each would take an hour.
    names = [f"d{number}" for number in range(100_000)]
    config = read(dimensionsSplitOrder=names, skipStarNodeCreationForDimensions=names)
    assert len(config.skip_star_node_creation_for_dimensions) == 100_000
    with pytest.raises(ConfigError, match="d7 is there twice"):
        read(dimensionsSplitOrder=[*names, "d7"])
