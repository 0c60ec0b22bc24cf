"""The gate behind collect_segment_metadata: plausible facts for the cost model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from starskip.advisor.families.families import families_of_night, segment_indexes
from starskip.advisor.families.family_faults import without_faulty
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import Expectation, View, between, in_set, none, warn_only
from starskip.advisor.run.gate import Counts, Gate, Measure
from starskip.advisor.run.night import Night
from starskip.night.quality.count_rows import count, count_missing, counted
from starskip.settings import Settings

_REQUIRED = ("segment", "rows", "entries", "data_type", "is_sorted", "has_dictionary", "is_single_value")
_MOST = 2**31 - 1
"""Rows and entries of a segment are Java ints; so bounded, their sums over segments are exact."""


def _views(night: Night, table: str) -> Mapping[str, View]:
    columns, duplicates = counted(night, "table_facts", table)
    segments = max((row["segments"] for row in columns), default=0)
    rows = max((row["rows"] for row in columns if row["segments"] == segments), default=0)
    damaged = published(night, "damaged_segments").parts([table]).get(table)
    damaged_segments = damaged.rows if damaged else 0
    whole = {
        "segments": segments,
        "rows": rows if segments else None,
        "damaged_ratio": damaged_segments / max(segments + damaged_segments, 1),
        "duplicates": duplicates,
        "other_tables": sum(row["other_tables"] for row in columns),
        "partial_columns": sum(row["segments"] < segments for row in columns),
    }
    for row in columns:
        row["is_named"] = bool((row["column"] or "").strip())
        # Columns that every segment has are counted over the same rows.
        row["other_rows"] = abs(row["rows"] - rows) if row["segments"] == segments else 0
    missing = [
        {"field": name, "missing": sum(row[f"{name}_missing"] for row in columns)} for name in _REQUIRED
    ]
    return {"table": View([whole]), "columns": View(columns, "column"), "fields": View(missing, "field")}


def _counts(night: Night) -> Counts:
    indexes, _ = without_faulty(
        {}, lambda names: segment_indexes(families_of_night(night.without_families(names)).known)
    )
    largest = {
        largest_index(family): Measure(_index_bytes(index), "max")
        for family, index in indexes.items()
        if index
    }
    return Counts({**_measures(), **largest}, key=["segment", "column"], by=["column"])


def largest_index(family: str) -> str:
    """Return the name of the counted size of the largest index of a family."""
    return f"largest_{family}"


def _measures() -> dict[str, Measure]:
    rows, entries, cardinality = pc.field("rows"), pc.field("entries"), pc.field("cardinality")
    is_single_value = pc.field("is_single_value")
    most_entries = pc.multiply(rows, pc.field("max_values_per_row"))
    return {
        "segments": Measure(pc.scalar(1), "sum"),
        "rows": Measure(rows, "sum"),
        "rows_minimum": Measure(rows, "min"),
        "rows_maximum": Measure(rows, "max"),
        "entries_minimum": Measure(entries, "min"),
        "entries_maximum": Measure(entries, "max"),
        "cardinality_minimum": Measure(cardinality, "min"),
        "single_value_faults": count(is_single_value & (entries != rows)),
        "multi_value_faults": count(~is_single_value & (entries > most_entries)),
        # A segment without rows may still hold the default value in a dictionary.
        "cardinality_faults": count(cardinality > pc.max_element_wise(entries, 1)),
        "inverted_index_bytes": Measure(_index_bytes("inverted_index"), "min"),
        **{f"{name}_missing": count_missing(name) for name in _REQUIRED},
    }


def _index_bytes(index: str) -> pc.Expression:
    return pc.map_lookup(pc.field("index_bytes"), query_key=index, occurrence="first")


def _expectations(settings: Settings) -> Sequence[Expectation]:
    in_each = "in each segment"
    return (
        between("table", "segments", "readable segments of {table}", 1),
        between("table", "rows", "rows of {table}: all segments together", 1),
        between(
            "table",
            "damaged_ratio",
            "damaged segments of {table}: share",
            0,
            settings.gates.max_damaged_ratio,
        ),
        none("table", "duplicates", "segments of {table}: columns given twice of one segment"),
        none("table", "other_tables", "facts of {table}: rows of other tables"),
        warn_only(none("table", "partial_columns", "columns of {table}: missing in some segments")),
        in_set("columns", "is_named", "columns of {table}: whether named", [True], expected="a name each"),
        none("columns", "other_rows", "rows of {table}: columns that differ from the others"),
        between("columns", "rows_minimum", f"rows of {{table}}: minimum {in_each}", 0),
        between("columns", "rows_maximum", f"rows of {{table}}: maximum {in_each}", None, _MOST),
        between("columns", "entries_minimum", f"entries of columns of {{table}}: minimum {in_each}", 0),
        between(
            "columns", "entries_maximum", f"entries of columns of {{table}}: maximum {in_each}", None, _MOST
        ),
        none(
            "columns",
            "single_value_faults",
            "single-value columns of {table}: segments with entries unequal to rows",
        ),
        none(
            "columns",
            "multi_value_faults",
            "multi-value columns of {table}: segments with more entries than rows hold",
        ),
        between(
            "columns", "cardinality_minimum", f"cardinality of columns of {{table}}: minimum {in_each}", 0
        ),
        none(
            "columns",
            "cardinality_faults",
            "cardinality of columns of {table}: segments with more values than entries",
        ),
        between("columns", "inverted_index_bytes", "inverted indexes of {table}: bytes, minimum", 0),
        none("fields", "missing", "facts of {table}: fields with missing values"),
    )


TABLE_FACTS_GATE = Gate(_views, _expectations, _counts)
