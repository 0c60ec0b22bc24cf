"""FST indexes: what they answer by version, and how a table config gets and loses one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.column_indexes import FST
from starskip.pinot.column_indexes.fst import FST_PATH
from starskip.pinot.config_columns import SchemaColumn
from starskip.pinot.config_rules import config_faults
from starskip.pinot.proposed_config import KeyEdit, with_edits
from starskip.pinot.table_config import table_config
from starskip.sql.predicate import Leaf, Operator, Slot
from starskip.tables.table_overview import ColumnOverview

CONFIG: dict[str, Any] = {
    "tableName": "t",
    "tableType": "OFFLINE",
    "tableIndexConfig": {"invertedIndexColumns": ["b"], "noDictionaryColumns": ["raw"]},
    "fieldConfigList": [
        {"name": "old", "encodingType": "DICTIONARY", "indexType": "INVERTED"},
        {"name": "new", "encodingType": "DICTIONARY", "indexes": {"bloom": {"fpp": 0.1}}},
        {"name": "has", "encodingType": "DICTIONARY", "indexTypes": ["fst", "INVERTED"]},
        {"name": "half", "encodingType": "DICTIONARY", "indexTypes": ["FST"]},
    ],
}
COLUMNS = {name: SchemaColumn() for name in ("a", "b", "old", "new", "has", "half", "raw")}


def changed(added: tuple[str, ...] = (), dropped: tuple[str, ...] = ()) -> dict[str, Any]:
    config = table_config(copy.deepcopy(CONFIG))
    document = with_edits(config, [KeyEdit(FST.config, added, dropped)])
    assert config.document == CONFIG, "the config itself stays"
    return document


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in document["fieldConfigList"] if each["name"] == name]
    return found


@pytest.mark.parametrize(
    ("version", "operators"),
    [("0.7.1", set()), ("0.8.0", {"like", "regexp_like"}), ("1.6.0", {"like", "regexp_like"})],
)
def test_it_answers_patterns_and_what_its_inverted_index_answers(version: str, operators: set[str]) -> None:
    rules = access_rules(version)
    answered = {each.value for each in Operator if rules.serves("fst", Leaf(each, "c", (Slot(0),)))}
    assert answered == {"=", "<>", "in", "not in"} | operators


def test_it_answers_no_pattern_with_flags_and_none_without_the_inverted_index() -> None:
    rules = access_rules("1.5.1")
    assert not rules.serves("fst", Leaf(Operator.REGEXP_LIKE, "c", (Slot(0), Slot(1))))
    skipping = Leaf(Operator.LIKE, "c", (Slot(0),), skipped_indexes=frozenset({"inverted"}))
    assert not rules.serves("fst", skipping)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (ColumnOverview("c"), None),
        (ColumnOverview("c", data_type="INT"), "no_text"),
        (ColumnOverview("c", is_single_value=False), "multi_value"),
        (ColumnOverview("c", dictionary_ratio=0.0), "no_dictionary"),
    ],
)
def test_columns_that_cannot_have_one(column: ColumnOverview, reason: str | None) -> None:
    found = FST_PATH.obstacle(column)
    assert (found.reason if found else None) == reason


def test_both_indexes_are_in_force_or_none() -> None:
    assert FST.config.in_force(table_config(CONFIG)) == ("has",)


@pytest.mark.parametrize(
    ("name", "entry_after", "inverted"),
    [
        ("a", {"name": "a", "encodingType": "DICTIONARY", "indexTypes": ["FST"]}, ["b", "a"]),
        ("b", {"name": "b", "encodingType": "DICTIONARY", "indexTypes": ["FST"]}, ["b"]),
        ("old", {"name": "old", "encodingType": "DICTIONARY", "indexTypes": ["FST", "INVERTED"]}, ["b"]),
        (
            "new",
            {"name": "new", "encodingType": "DICTIONARY", "indexes": {"bloom": {"fpp": 0.1}, "fst": {}}},
            ["b", "new"],
        ),
        ("half", {"name": "half", "encodingType": "DICTIONARY", "indexTypes": ["FST"]}, ["b", "half"]),
    ],
)
def test_it_is_added_in_the_form_that_the_config_has(
    name: str, entry_after: dict[str, Any], inverted: list[str]
) -> None:
    document = changed(added=(name,))
    assert entry(document, name) == entry_after
    assert document["tableIndexConfig"]["invertedIndexColumns"] == inverted
    assert name in FST.config.in_force(table_config(document))
    # 0.11 reads no "indexes", where this config has them already.
    release = (1, 5) if "indexes" in entry_after else (0, 11)
    assert set(config_faults(document, COLUMNS, release)) <= set(config_faults(CONFIG, COLUMNS, release))


def test_the_inverted_index_stays_when_the_other_goes() -> None:
    document = changed(dropped=("has",))
    assert entry(document, "has")["indexTypes"] == ["INVERTED"]
    assert FST.config.in_force(table_config(document)) == ()
    assert changed() == CONFIG


def test_a_raw_column_breaks_pinots_rule() -> None:
    new = set(config_faults(changed(added=("raw",)), COLUMNS, (1, 5))) - set(
        config_faults(CONFIG, COLUMNS, (1, 5))
    )
    assert any(fault.code == "fst_type" and fault.subject == "raw" for fault in new)


def test_a_fragment_holds_both_indexes() -> None:
    fragment = FST.config.fragment("c")
    assert FST.config.entry_of(fragment) == "c"
    assert FST.config.in_force(table_config({"tableName": "t", **fragment})) == ("c",)
