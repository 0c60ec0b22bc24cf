"""Metadata made from the controller's answer reads as Pinot's own, whatever names and values hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.cluster.pulled_metadata import metadata_texts
from starskip.pinot.segments.metadata_properties import parse_properties
from starskip.pinot.segments.segment_layout import parse_index_map
from starskip.pinot.segments.segment_metadata import read_segment_metadata

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs", "Z", "C"]), min_size=1)


def column(name: str, **more: Any) -> dict[str, Any]:
    return {
        "columnName": name,
        "fieldType": "DIMENSION",
        "dataType": "STRING",
        "singleValue": True,
        "sorted": False,
        "cardinality": 10,
        "bitsPerElement": 4,
        "columnMaxLength": 8,
        "totalDocs": 100,
        "totalNumberOfEntries": 100,
        **more,
    }


def read(answer: dict[str, Any], segment_bytes: int = 0) -> tuple[Any, Any]:
    texts = metadata_texts("t_OFFLINE", "s", answer, segment_bytes, 7)
    metadata = read_segment_metadata("s.tar.gz", parse_properties(texts["metadata.properties"]))
    return metadata, {place: found.size for place, found in parse_index_map(texts["index_map"]).items()}


@given(NAMES, TEXTS, TEXTS)
def test_names_and_values_come_back(name: str, least: str, greatest: str) -> None:
    metadata, _ = read({"columns": [column(name, minValue=least, maxValue=greatest)]})
    (found,) = metadata.columns
    assert (found.name, found.min_value, found.max_value) == (name, least, greatest)
    assert (metadata.segment, metadata.rows, metadata.pulled_rows) == ("s", 100, 7)


def test_facts_of_all_kinds_of_columns() -> None:
    columns = [
        column("m", fieldType="METRIC", dataType="DOUBLE", minValue=-1.5, maxValue=2, cardinality=-(2**31)),
        column("t", fieldType="DATE_TIME", dataType="TIMESTAMP", sorted=True, minValue=0, maxValue=9),
        column("b", dataType="BYTES", minValue={"bytes": "AA=="}, maxValue=None),
        column("v", singleValue=False, maxNumberOfMultiValues=3, totalNumberOfEntries=250),
    ]
    indexes = {name: {"dictionary": "YES"} for name in "tbv"} | {"m": {"dictionary": "NO"}}
    metadata, _ = read({"columns": columns, "indexes": indexes})
    found = {each.name: each for each in metadata.columns}
    assert (found["m"].cardinality, found["m"].has_dictionary, found["m"].column_type) == (
        None,
        False,
        "METRIC",
    )
    assert (found["m"].min_value, found["m"].max_value) == ("-1.5", "2")
    assert (found["t"].is_sorted, found["t"].column_type) == (True, "DATE_TIME")
    assert found["b"].min_value is None
    assert (found["v"].entries, found["v"].max_values_per_row, found["v"].is_single_value) == (250, 3, False)


def test_sizes_of_0_11_are_computed_and_the_rest_is_shared() -> None:
    columns = [column("a", dataType="INT"), column("s", sorted=True), column("r", dataType="LONG")]
    indexes = {
        "a": {"dictionary": "YES", "inverted-index": "YES", "range-index": "NO"},
        # A sorted column says so without having one.
        "s": {"dictionary": "YES", "inverted-index": "YES", "bloom-filter": "YES"},
        "r": {"dictionary": "NO", "inverted-index": "NO"},
    }
    _, sizes = read({"columns": columns, "indexes": indexes}, 1_000 + 40 + 50 + 80 + 80 + 800)
    assert sizes == {
        ("a", "dictionary"): 40,
        ("a", "forward_index"): 50,
        ("a", "inverted_index"): 500,
        ("s", "dictionary"): 80,
        ("s", "forward_index"): 80,
        ("s", "bloom_filter"): 500,
        ("r", "forward_index"): 800,
    }


def test_sizes_of_1_5_are_pinots_own() -> None:
    sizes_of_a = {"dictionary": 44, "forward_index": 99, "inverted_index": 0}
    answer = {"columns": [column("a", hasDictionary=True, indexSizeMap=sizes_of_a)], "indexes": {"a": {}}}
    metadata, sizes = read(answer)
    assert sizes == {("a", "dictionary"): 44, ("a", "forward_index"): 99}
    assert metadata.columns[0].has_dictionary
