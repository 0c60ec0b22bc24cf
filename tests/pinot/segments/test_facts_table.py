from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.facts_table import collect_facts, source_identity
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.storage.schemas import DAMAGED_SEGMENTS, TABLE_FACTS


def test_one_damaged_segment_is_named_and_the_rest_goes_on(
    segment_files: dict[str, SegmentFile], raw_file: Callable[[bytes], SegmentFile]
) -> None:
    bad = raw_file(b"hello" * 1000)
    pairs = list(collect_facts([segment_files["tiny_onerow"], bad, segment_files["tiny_fmt1"]]))
    facts = pa.concat_tables(facts for facts, _ in pairs)
    damaged = pa.concat_tables(damaged for _, damaged in pairs)
    assert facts.schema.equals(TABLE_FACTS)
    assert damaged.schema.equals(DAMAGED_SEGMENTS)
    assert facts["segment"].unique().to_pylist() == ["tiny_onerow", "tiny_fmt1"]
    assert damaged.to_pylist() == [
        {
            "table": "t",
            "source_file": bad.path,
            "reason": "not_a_tar",
            "detail": "is neither a tar nor a gzipped tar",
        }
    ]


def test_a_row_of_the_table_holds_what_the_metadata_says(segment_files: dict[str, SegmentFile]) -> None:
    file = segment_files["tiny_indexed_fmt1"]
    ((facts, _),) = collect_facts([file])
    row = next(row for row in facts.to_pylist() if row["column"] == "mv_str")
    sizes = dict(row.pop("index_bytes"))
    assert set(sizes) == {"dictionary", "forward_index", "inverted_index"}
    assert row == {
        "table": "tiny",
        "segment": "tiny_indexed_fmt1",
        "version": "v1",
        "rows": 500,
        "source_file": file.path,
        "source_identity": source_identity(file),
        "column": "mv_str",
        "data_type": "STRING",
        "column_type": "DIMENSION",
        "cardinality": 14,
        "entries": 1006,
        "is_sorted": False,
        "has_dictionary": True,
        "is_single_value": False,
        "max_values_per_row": 5,
        "min_value": "",
        "max_value": "täg",
    }


def test_the_error_survives_the_way_from_an_executor() -> None:
    error = pickle.loads(pickle.dumps(DamagedSegment("f", "too_large", "is big")))
    assert (str(error), error.source, error.reason) == ("segment f: is big", "f", "too_large")
