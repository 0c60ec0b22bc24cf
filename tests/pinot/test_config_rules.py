"""Rules of table configs: broken by the forms and in the releases in which Pinot refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from starskip.pinot.config_columns import SchemaColumn
from starskip.pinot.config_rules import CONFIG_RULES, config_faults
from starskip.pinot.target_version import release_number

COLUMNS = {
    "text": SchemaColumn("STRING"),
    "number": SchemaColumn("INT"),
    "flag": SchemaColumn("BOOLEAN"),
    "several": SchemaColumn("STRING", is_single_value=False),
    "object": SchemaColumn("MAP"),
    "cost": SchemaColumn("DOUBLE", column_type="METRIC"),
    "costs": SchemaColumn("DOUBLE", is_single_value=False),
}
RELEASES = ("0.11", "0.12", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5")


def config(fields: list[dict[str, Any]] | None = None, **index_config: Any) -> dict[str, Any]:
    fields = [{"name": "text", **each} for each in fields or []]
    return {"tableName": "t", "fieldConfigList": fields, "tableIndexConfig": index_config}


def tree(*pairs: str, dimensions: str = "text", **keys: Any) -> dict[str, Any]:
    entry = {"dimensionsSplitOrder": [dimensions], "functionColumnPairs": list(pairs) or ["COUNT__*"]}
    return {"starTreeIndexConfigs": [entry | keys]}


RAW_INVERTED: dict[str, Any] = {"invertedIndexColumns": ["text"], "noDictionaryColumns": ["text"]}
RAW_FIELD = [{"encodingType": "RAW"}]
UPSERT = {"upsertConfig": {"mode": "FULL"}}


@pytest.mark.parametrize(
    ("document", "code", "first", "last"),
    [
        (config(invertedIndexColumns=["gone"]), "unknown_column", "0.11", "1.5"),
        (config([{"name": "gone", "encodingType": "RAW"}]), "unknown_column", "0.11", "1.5"),
        (config(**RAW_INVERTED), "inverted_no_dictionary", "0.11", "1.4"),
        (config(RAW_FIELD, invertedIndexColumns=["text"]), "inverted_no_dictionary", "1.4", "1.4"),
        (config(RAW_FIELD, invertedIndexColumns=["text"]), "inverted_idle", "0.11", "1.3"),
        (
            config(noDictionaryConfig={"text": "SNAPPY"}, invertedIndexColumns=["text"]),
            "inverted_idle",
            "0.11",
            "1.3",
        ),
        (
            config(rangeIndexColumns=["text"], noDictionaryColumns=["text"]),
            "range_no_dictionary",
            "0.11",
            "1.5",
        ),
        (
            config(
                [{"indexes": {"inverted": {}}, "encodingType": "DICTIONARY"}], invertedIndexColumns=["text"]
            ),
            "declared_twice",
            "1.0",
            "1.5",
        ),
        (config(sortedColumn=["several"]), "sorted_multi_value", "0.11", "1.5"),
        (config(jsonIndexColumns=["number"]), "json_type", "0.11", "1.5"),
        (config(jsonIndexConfigs={"number": {}}), "json_type", "0.12", "1.5"),
        (config(bloomFilterColumns=["flag"]), "bloom_type", "1.4", "1.5"),
        (config(invertedIndexColumns=["object"]), "inverted_map", "1.4", "1.5"),
        (config(varLengthDictionaryColumns=["number"]), "var_length_type", "0.11", "1.5"),
        (
            config([{"encodingType": "dictionary"}], noDictionaryColumns=["text"]),
            "encoding_conflict",
            "0.11",
            "1.5",
        ),
        (
            config([{"encodingType": "DICTIONARY"}], noDictionaryConfig={"text": "LZ4"}),
            "encoding_conflict",
            "1.1",
            "1.5",
        ),
        (config([{}]), "encoding_missing", "0.11", "1.1"),
        (config(**tree()) | UPSERT, "upsert_star_tree", "0.11", "1.5"),
        (config(enableDefaultStarTree="true") | UPSERT, "upsert_star_tree", "0.11", "1.5"),
        (config(**tree()) | {"dedupConfig": {"dedupEnabled": True}}, "dedup_star_tree", "0.11", "1.5"),
        (config(**tree(dimensions="several")), "tree_multi_value", "0.11", "1.5"),
        (config(**tree("SUM__costs")), "tree_metric_multi_value", "0.11", "1.4"),
        (config(**tree(), noDictionaryColumns=["text"]), "tree_no_dictionary", "0.11", "1.5"),
        (config(**tree("NOSUCH__cost")), "tree_pair", "0.11", "1.5"),
        (config(**tree("cost")), "tree_pair", "0.11", "1.5"),
        (config(**tree("DISTINCTCOUNTHLLPLUS__number")), "tree_function", "0.11", "1.0"),
        (config(**tree("SUM__text")), "tree_metric_type", "0.11", "1.5"),
        (config(**tree("SUM__cost", "sum__cost")), "tree_pair_twice", "1.3", "1.5"),
        (config(**tree(functionColumnPairs=[])), "tree_without_pairs", "0.11", "1.5"),
        (
            config(**tree(aggregationConfigs=[{"columnName": "cost", "aggregationFunction": "SUM"}])),
            "tree_pairs_both_ways",
            "1.4",
            "1.5",
        ),
        (
            config(
                [{"properties": {"forwardIndexDisabled": "true"}}],
                rangeIndexColumns=["text"],
                rangeIndexVersion=1,
            ),
            "range_without_forward",
            "0.12",
            "1.5",
        ),
    ],
)
def test_a_rule_holds_for_its_releases(document: dict[str, Any], code: str, first: str, last: str) -> None:
    broken = [
        release
        for release in RELEASES
        if code in {fault.code for fault in config_faults(document, COLUMNS, release_number(release))}
    ]
    assert broken == list(RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1])


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "document",
    [
        config(),
        config(**tree("SUM__cost", "DISTINCTCOUNTHLL__text"), invertedIndexColumns=["text", "several"]),
        config(rangeIndexColumns=["number"], noDictionaryColumns=["number"], sortedColumn=["text"]),
        config(**RAW_INVERTED | {"noDictionaryColumns": None}),
        {"tableName": "t", "tableIndexConfig": None, "fieldConfigList": None, **UPSERT},
        {"tableName": "t", "upsertConfig": {"mode": "NONE"}, "tableIndexConfig": tree()},
    ],
)
def test_a_sound_config_breaks_none(document: dict[str, Any], release: str) -> None:
    assert config_faults(document, COLUMNS, release_number(release)) == ()


def test_inverted_indexes_without_a_dictionary_come_with_1_5() -> None:
    raw: dict[str, Any] = {
        "noDictionaryColumns": ["text", "several"],
        "invertedIndexColumns": ["text", "several"],
    }
    (fault,) = config_faults(config(**raw), COLUMNS, (1, 5))
    assert (fault.code, fault.subject) == ("inverted_idle", "several")


def test_each_rule_names_what_breaks_it() -> None:
    (fault, _) = config_faults(config(**RAW_INVERTED), COLUMNS, (1, 0))
    assert fault.sentence("1.0") == (
        "Pinot 1.0 refuses such a config: text is stored without a dictionary, which an inverted index needs "
        "(rule inverted_no_dictionary)"
    )
    assert len({rule.code for rule in CONFIG_RULES}) >= 21
