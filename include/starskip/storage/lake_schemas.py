"""The Arrow schemas of artefacts about lake tables: logged Spark queries, and skipping indexes."""

from __future__ import annotations

import pyarrow as pa

_LAKE_INSTANCE = pa.struct(
    [
        ("predicate", pa.string()),
        ("description", pa.string()),
        ("queries", pa.int64()),
        ("duration_ms", pa.int64()),
        ("files_read", pa.int64()),
        ("bytes_read", pa.int64()),
        ("rows_read", pa.int64()),
    ]
)

LAKE_QUERIES = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("skeleton", pa.string()),
        ("queries", pa.int64()),
        ("failed", pa.int64()),
        ("duration_ms", pa.int64()),
        ("files_read", pa.int64()),
        ("bytes_read", pa.int64()),
        ("rows_read", pa.int64()),
        ("first_started_ms", pa.int64()),
        ("last_started_ms", pa.int64()),
        ("instances", pa.list_(_LAKE_INSTANCE)),
    ]
)
"""One row a table of the lake and shape of predicates that Spark scanned it with.

A query that scans a table twice counts twice, each time with its whole duration. Sums are over ``queries``;
``failed`` queries are not among them. ``instances``: the distinct predicates, or an even sample if they are
many (predicates.expression_json); ``description``: one such query's.
"""

SKIPPING_ADVICE = pa.schema(
    [
        ("table", pa.string()),
        ("verdict", pa.string()),
        ("rank", pa.int32()),
        ("index", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("individual_saving_ratio", pa.float64()),
        ("progressive_saving_ratio", pa.float64()),
        ("size_bytes", pa.int64()),
    ]
)
"""One row a skipping index of a table of the lake that was "chosen" or "refused".

``index`` is its specification; ``reason`` a code and ``detail`` a sentence, null for chosen indexes, which
have a ``rank`` from 1. Ratios are shares of all bytes that the workload reads; sizes are of metadata as
collected.
"""

SECONDARY_ADVICE = pa.schema(
    [
        *SKIPPING_ADVICE,
        ("files_sampled", pa.int64()),
        ("build_seconds", pa.float64()),
    ]
)
"""One row a secondary index of a table of the lake that was "chosen" or "refused".

As SKIPPING_ADVICE, but sizes and savings are estimated from ``files_sampled`` files. ``build_seconds``: to
index the whole table in one task, extrapolated from the sample.
"""

SKIPPING_SHAPES = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("skeleton", pa.string()),
        ("queries", pa.float64()),
        ("bytes_read", pa.int64()),
        ("verdict", pa.string()),
        ("detail", pa.string()),
        ("instances", pa.int32()),
        ("selectivity", pa.float64()),
        ("layout_factor", pa.float64()),
        ("metadata_factor", pa.float64()),
        ("scanning_factor", pa.float64()),
        ("saving_ratio", pa.float64()),
    ]
)
"""One row a shape of LAKE_QUERIES, with the chosen indexes' effect on it.

``queries`` are weighed by age; ``bytes_read`` are the log's. ``verdict``: "defined", "no_matching_rows",
"rows_lost", or "not_evaluated" where rows cannot be counted, which ``detail`` explains. The four factors are
geometric means over ``instances``, null unless defined; ``saving_ratio`` is the share of the table's bytes
that is skipped, a mean over the instances.
"""

SKIPPING_BUILDS = pa.schema(
    [
        ("table", pa.string()),
        ("index", pa.string()),
        ("outcome", pa.string()),
        ("detail", pa.string()),
        ("files", pa.int64()),
        ("files_known", pa.int64()),
        ("size_bytes", pa.int64()),
        ("estimated_bytes", pa.int64()),
    ]
)
"""One row an index of a lake table that a night had to keep or to remove, with the outcome.

``outcome``: "created", "refreshed", "unchanged", "by_hand" (somebody's own, refreshed too), "deleted",
"failed" or "not_built". ``files``: the live files of the table; ``files_known``: the files that the index
covers.
"""

SECONDARY_BUILDS = SKIPPING_BUILDS
"""The same for secondary indexes."""

SKIPPING_VERDICTS = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("instance", pa.int32()),
        ("verdict", pa.string()),
        ("detail", pa.string()),
        ("answer_rows", pa.int64()),
        ("files_total", pa.int64()),
        ("plain_files_read", pa.int64()),
        ("skipping_files_read", pa.int64()),
        ("plain_bytes_read", pa.int64()),
        ("skipping_bytes_read", pa.int64()),
        ("plain_ms", pa.float64()),
        ("skipping_ms", pa.float64()),
    ]
)
"""One row a query to be answered by Spark with skipping and without.

``verdict``: "equal", "different", "failed", "not_comparable" for a predicate that cannot be run again, or
"not_proved" for a query that was not asked, as ``detail`` explains. Files and bytes are Spark's own numbers;
the others are null unless both ran.
"""

SECONDARY_VERDICTS = SKIPPING_VERDICTS
"""The same for queries that a secondary index serves; ``skipping_`` stands for Spark's rule as a whole."""
