"""The JSON of Pinot's metadata collector, written and read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.families import segment_indexes
from starskip.errors import SourceError
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.packed_metadata import packed_metadata
from starskip.pinot.segments.read_packed_metadata import read_packed_metadata
from starskip.pinot.segments.segment_files import list_segments
from starskip.storage.schemas import TABLE_FACTS
from starskip.tables.table_overview import column_sums, table_overviews

SAMPLE = Path(__file__).parents[3] / "include" / "sample" / "segments"

# As the original writes it: maps in no order, numbers as numbers and as texts, DIMENSION and TIME alone.
OF_THE_ORIGINAL = """{"segment_meta":{"userTable1":{"id":{"seg_0.tar.gz":{"cardinality":"40",
"totalDocs":"100","isSorted":"false","totalNumberOfEntries":"250","invertedIndexSize":"0"},"seg_1.tar.gz":{"isSorted":"true",
"cardinality":"10","totalDocs":"300","totalNumberOfEntries":"350","invertedIndexSize":"1391"}}}},
"col_meta":{"userTable1":{"id":{"n_isSorted":1,"n_hasInvertedIndex":1,"n_totalDocs":400,"n_segmentCount":2,
"w_cardinality":7000,"n_totalNumberOfEntries":600}}}}"""


def fact(table: str, column: str, segment: str, **values: Any) -> dict[str, Any]:
    plain = {"rows": 10, "cardinality": 2, "entries": 10, "is_sorted": False, "index_bytes": {}}
    named = {"table": table, "column": column, "source_file": f"/deep/{table}/{segment}.tar.gz"}
    row = {"has_dictionary": True, "is_single_value": True, "data_type": "INT"} | named | plain | values
    return row | {"index_bytes": list(row["index_bytes"].items())}


def facts(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TABLE_FACTS)


def document(*rows: dict[str, Any]) -> Any:
    return json.loads("".join(packed_metadata(facts(*rows))))


@pytest.fixture(scope="module")
def lineitem() -> pa.Table:
    return pa.concat_tables([of_file for of_file, _ in collect_facts(list_segments(SAMPLE, ["lineitem"]))])


def test_the_shape_is_the_originals() -> None:
    found = document(
        fact("t", "id", "s0", cardinality=4, entries=25, index_bytes={"inverted_index": 99, "dictionary": 7}),
        fact("t", "id", "s1", cardinality=3, rows=20, is_sorted=True),
    )
    assert found == {
        "col_meta": {
            "t": {
                "id": {
                    "w_cardinality": 100,
                    "n_totalDocs": 30,
                    "n_totalNumberOfEntries": 35,
                    "n_isSorted": 1,
                    "n_hasInvertedIndex": 1,
                    "n_segmentCount": 2,
                }
            }
        },
        "segment_meta": {
            "t": {
                "id": {
                    "s0.tar.gz": {
                        "cardinality": "4",
                        "totalDocs": "10",
                        "totalNumberOfEntries": "25",
                        "isSorted": "false",
                        "invertedIndexSize": "99",
                    },
                    "s1.tar.gz": {
                        "cardinality": "3",
                        "totalDocs": "20",
                        "totalNumberOfEntries": "10",
                        "isSorted": "true",
                        "invertedIndexSize": "0",
                    },
                }
            }
        },
    }


def test_one_column_does_not_take_the_index_of_another_whose_name_ends_alike() -> None:
    found = document(
        fact("t", "id", "s", index_bytes={}), fact("t", "user_id", "s", index_bytes={"inverted_index": 5})
    )
    assert found["col_meta"]["t"]["id"]["n_hasInvertedIndex"] == 0
    assert found["segment_meta"]["t"]["user_id"]["s.tar.gz"]["invertedIndexSize"] == "5"


def test_an_unknown_cardinality_is_no_selectivity_as_in_the_original() -> None:
    found = document(fact("t", "c", "s", cardinality=None))
    assert found["col_meta"]["t"]["c"]["w_cardinality"] == 10
    assert found["segment_meta"]["t"]["c"]["s.tar.gz"]["cardinality"] == "1"


def test_sums_past_64_bits_and_names_of_any_kind() -> None:
    name = 'a"\\\n\u202e ü.b'
    found = document(fact("t", name, "s", rows=1 << 40, cardinality=1 << 40))
    assert found["col_meta"]["t"][name]["w_cardinality"] == 1 << 80


def test_no_segment_is_an_empty_document() -> None:
    assert document() == {"col_meta": {}, "segment_meta": {}}


def test_the_text_does_not_depend_on_the_order_of_the_facts(lineitem: pa.Table) -> None:
    order = list(range(len(lineitem)))
    random.Random(3).shuffle(order)
    assert "".join(packed_metadata(lineitem.take(order))) == "".join(packed_metadata(lineitem))


def test_what_was_packed_reads_back_as_the_segments_say(lineitem: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("".join(packed_metadata(lineitem)))
    packed = table_overviews(read_packed_metadata(tmp_path / "m.json"), segment_indexes())["lineitem"]
    known = table_overviews(column_sums(lineitem.to_batches()), segment_indexes())["lineitem"]
    assert (packed.rows, packed.segments, packed.columns.keys()) == (299_814, 4, known.columns.keys())
    for name, column in known.columns.items():
        mine = packed.columns[name]
        assert mine.cardinality == pytest.approx(column.cardinality)
        assert (mine.entries_per_row, mine.sorted_ratio) == (column.entries_per_row, column.sorted_ratio)


def test_a_file_of_the_original(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(OF_THE_ORIGINAL)
    table = table_overviews(read_packed_metadata(tmp_path / "m.json"), segment_indexes())["userTable1"]
    column = table.columns["id"]
    assert (table.rows, table.segments) == (400, 2)
    assert (column.cardinality, column.entries_per_row, column.sorted_ratio) == (17.5, 1.5, 0.5)
    assert not column.is_single_value
    assert table.indexed("inverted") == {"id"}
    assert column.index_bytes == {"inverted_index": 1391}


def test_what_a_file_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(
        '{"col_meta":{"t":{"a":{"n_totalDocs":"5"},"b":{"n_hasInvertedIndex":2}}}}'
    )
    table = table_overviews(read_packed_metadata(tmp_path / "m.json"), segment_indexes())["t"]
    assert (table.columns["a"].cardinality, table.columns["a"].entries_per_row) == (None, 1.0)
    assert table.indexed("inverted") == {"b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[1]", "no col_meta"),
        ('{"segment_meta":{}}', "no col_meta"),
        ('{"col_meta":[]}', "col_meta is no object"),
        ('{"col_meta":{"t":{"c":3}}}', "col_meta of t.c is no object"),
        ('{"col_meta":{"t":{"c":{"n_totalDocs":-1}}}}', "n_totalDocs of t.c is no whole number: -1"),
        ('{"col_meta":{"t":{"c":{"n_totalDocs":"many"}}}}', "n_totalDocs of t.c is no whole number"),
        ('{"col_meta":{"t":{"c":{"n_totalDocs":true}}}}', "n_totalDocs of t.c is no whole number"),
        ('{"col_meta":{"t":{"c":{"n_isSorted":1.5}}}}', "n_isSorted of t.c is no whole number"),
        ('{"col_meta":{"t":{"c":{"n_totalDocs":99999999999999999999}}}}', "larger than any segment"),
        ('{"col_meta":{"t":{"c":{"w_cardinality":1' + "0" * 400 + "}}}}", "larger than any segment"),
        ('{"col_meta":{"t":{"c":{}}},"segment_meta":{"t":{"c":[]}}}', "segment_meta of t.c is no object"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        read_packed_metadata(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        read_packed_metadata(tmp_path / "none.json")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"col_meta": content}), encoding="utf-8", errors="surrogatepass")
    try:
        table_overviews(read_packed_metadata(path), segment_indexes())
    except SourceError as error:
        assert "any.json" in str(error)
