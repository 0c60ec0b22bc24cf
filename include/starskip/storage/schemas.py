"""The Arrow schemas of the artefacts that travel between stages, in the order of the night."""

from __future__ import annotations

import pyarrow as pa

TABLE_FACTS = pa.schema(
    [
        ("table", pa.string()),
        ("segment", pa.string()),
        ("version", pa.string()),
        ("rows", pa.int64()),
        ("source_file", pa.string()),
        ("source_identity", pa.string()),
        ("column", pa.string()),
        ("data_type", pa.string()),
        ("column_type", pa.string()),
        ("cardinality", pa.int64()),
        ("entries", pa.int64()),
        ("is_sorted", pa.bool_()),
        ("has_dictionary", pa.bool_()),
        ("is_single_value", pa.bool_()),
        ("max_values_per_row", pa.int64()),
        ("min_value", pa.string()),
        ("max_value", pa.string()),
        ("index_bytes", pa.map_(pa.string(), pa.int64())),
    ]
)
"""One row a segment and column; ``source_identity`` differs between versions of a file."""

DAMAGED_SEGMENTS = pa.schema(
    [("table", pa.string()), ("source_file", pa.string()), ("reason", pa.string()), ("detail", pa.string())]
)

TABLE_FACTS_COUNTS = pa.schema([("table", pa.string()), ("counts", pa.string())])
"""Counts that a gate asks of an artefact, as JSON: one row a column of a table."""

LOG_RECORDS = pa.schema(
    [
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("table", pa.string()),
        ("table_type", pa.string()),
        ("logged_at", pa.timestamp("ms")),
        ("request_id", pa.int64()),
        ("latency_ms", pa.int64()),
        ("rows_scanned", pa.int64()),
        ("rows_total", pa.int64()),
        ("entries_scanned_in_filter", pa.int64()),
        ("entries_scanned_post_filter", pa.int64()),
        ("segments_queried", pa.int64()),
        ("segments_processed", pa.int64()),
        ("segments_matched", pa.int64()),
        ("exceptions", pa.int64()),
        ("group_limit_reached", pa.bool_()),
        ("weight", pa.float64()),
        ("query_text", pa.string()),
        ("query_text_length", pa.int64()),
        ("line_format", pa.string()),
        ("source_file", pa.string()),
        ("source_position", pa.int64()),
        ("source_lines", pa.int64()),
        ("wrappers", pa.string()),
    ]
)
"""One row a record of a broker log.

``kind`` is "query", "other" (known to carry no counters) or "rejected"; ``reason`` is null for
queries. ``table`` has no type suffix; a multi-stage query has the names of its tables, ", " between them,
until its counters are shared out in QUERIES, where a hybrid table is T_OFFLINE or T_REALTIME. ``table_type``:
OFFLINE or REALTIME as the line names it, else null. ``logged_at`` is wall-clock time in the
log's time zone. A counter that the record's format does not carry is null. ``weight``: how many queries the
record stands for, 1 unless the broker dropped log lines around it (pinot.logs.sampling_weights).
``query_text_length``: the length of the text as the broker logged it, in Java's characters (UTF-16), also
where ``query_text`` is a table's share of it; in QUERIES null where a longer text shows that it is not cut.
``query_text`` of a rejected record holds the record's first 2,000 characters, ``line_format`` the fault of a
user's log format. ``source_position`` is the byte in the decompressed file where the record starts,
``source_lines`` the physical lines that it spans.
"""

QUERIES = pa.schema([f for f in LOG_RECORDS if f.name not in ("kind", "reason", "wrappers")])
QUERIES_COUNTS = TABLE_FACTS_COUNTS
"""Counts that a gate asks of an artefact, as JSON: one row a table."""
REJECTED_RECORDS = pa.schema(
    [
        LOG_RECORDS.field(name)
        for name in ("kind", "reason", "table", "logged_at", "query_text", "line_format")
    ]
    + [LOG_RECORDS.field(name) for name in ("source_file", "source_position", "source_lines")]
)

_INSTANCE = pa.struct(
    [
        ("literals", pa.list_(pa.list_(pa.string()))),
        ("queries", pa.int64()),
        ("entries_scanned_in_filter", pa.int64()),
        ("entries_scanned_in_filter_squared", pa.float64()),
        ("rows_scanned", pa.int64()),
        ("segments_matched", pa.int64()),
        ("unlogged_queries", pa.float64()),
        ("unlogged_entries_scanned_in_filter", pa.float64()),
        ("unlogged_entries_scanned_in_filter_squared", pa.float64()),
        ("entries_scanned_post_filter", pa.int64()),
        ("timed_queries", pa.int64()),
        ("latency_ms_sum", pa.int64()),
        ("latency_ms_squared", pa.float64()),
        ("least_latency_ms", pa.float64()),
    ]
)

WORKLOAD = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("text", pa.string()),
        ("skeleton", pa.string()),
        ("queries", pa.int64()),
        ("failed", pa.int64()),
        ("entries_scanned_in_filter", pa.int64()),
        ("entries_scanned_in_filter_squared", pa.float64()),
        ("entries_scanned_post_filter", pa.int64()),
        ("failed_entries_scanned_in_filter", pa.int64()),
        ("latency_ms_sum", pa.int64()),
        ("unlogged_queries", pa.float64()),
        ("unlogged_entries_scanned_in_filter", pa.float64()),
        ("unlogged_entries_scanned_in_filter_squared", pa.float64()),
        ("unlogged_latency_ms_sum", pa.float64()),
        ("segments_queried", pa.int64()),
        ("segments_processed", pa.int64()),
        ("segments_matched", pa.int64()),
        ("weight", pa.float64()),
        ("kept_below", pa.int64()),
        ("instances", pa.list_(_INSTANCE)),
    ]
)
"""One row a table and shape; ``instances``: its literals, or a sample.

Counts and sums are over the log's records. ``unlogged_…``: the estimated sums of queries that the broker
dropped from its log, 0 where it dropped none. ``weight``: the weight of a query in votes.
"""

SEGMENT_WINDOWS = pa.schema(
    [
        ("table", pa.string()),
        ("key", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("has_all_values", pa.bool_()),
        ("sorted_columns", pa.list_(pa.string())),
        ("constant_columns", pa.list_(pa.string())),
        ("values_a_row", pa.map_(pa.string(), pa.float64())),
        ("window", pa.binary()),
        ("sizes", pa.binary()),
    ]
)
"""One row a sampled segment, current state: what advisor.cost.decoded_segments decoded of it.

``key``: the version of the file and what was decoded. ``window`` and ``sizes`` are Arrow streams.
"""

LOG_TIMES = pa.schema(
    [
        ("file", pa.string()),
        ("records", pa.int64()),
        ("untimed", pa.int64()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
    ]
)
"""One row a log file, current state: its identity, its records, those without a time, the ends of times."""

ESTIMATES = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("leg", pa.int32()),
        ("instance", pa.int32()),
        ("entries", pa.list_(pa.float64())),
        ("ns", pa.list_(pa.float64())),
        ("simulated_ratio", pa.float64()),
    ]
)
"""Entries that one instance scans, and their nanoseconds, by alternative; never published.

``simulated_ratio``: share of the table's rows that lie in the segments simulated.
"""

VOTES = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("leg", pa.int32()),
        ("structures", pa.list_(pa.string())),
        ("saving_entries", pa.float64()),
        ("saving_entries_squared", pa.float64()),
        ("saving_entries_cross", pa.float64()),
        ("saving_priced_entries", pa.float64()),
        ("is_complete", pa.bool_()),
    ]
)
"""One row a shape, disjunct (``leg``) and set of indexes (``structures``).

Disjuncts of a shape add up, the sets of one disjunct exclude each other.

``saving_entries``: entries scanned in filter that the night's queries would have saved.
``saving_entries_squared`` and ``_cross``: sums over queries of saving² and saving times entries,
for the interval. ``saving_priced_entries``: the saved share of the time, by the prices of entries, of all
entries, in filter and post filter. ``is_complete``: every subset of the disjunct's columns has a row.
"""

LATENCY_BINS = pa.schema(
    [
        ("table", pa.string()),
        ("bin_in_filter", pa.int64()),
        ("bin_post_filter", pa.int64()),
        ("entries_scanned_in_filter", pa.float64()),
        ("entries_scanned_post_filter", pa.float64()),
        ("latency_ms", pa.float64()),
        ("queries", pa.int64()),
    ]
)
"""One row a table and bin: the quickest query of the bin, and how many fell into it."""

COLUMN_SUMS = pa.schema(
    [
        ("table", pa.string()),
        ("column", pa.string()),
        ("index", pa.string()),
        ("data_type", pa.string()),
        ("column_type", pa.string()),
        ("segments", pa.int64()),
        ("rows", pa.int64()),
        ("entries", pa.int64()),
        ("rows_of_known_cardinality", pa.int64()),
        ("cardinality_times_rows", pa.float64()),
        ("sorted_segments", pa.int64()),
        ("dictionary_segments", pa.int64()),
        ("multi_value_segments", pa.int64()),
        ("index_bytes", pa.int64()),
    ]
)
"""TABLE_FACTS summed over segments: a row a column (``index`` empty), and one an index with its bytes."""

INDEX_SIZES = pa.schema(
    [
        ("table", pa.string()),
        ("kind", pa.string()),
        ("column", pa.string()),
        ("segments", pa.int64()),
        ("known_bytes", pa.float64()),
        ("uniform_bytes", pa.float64()),
        ("sampled_segments", pa.int64()),
        ("sampled_uniform_bytes", pa.float64()),
        ("sampled_bytes", pa.float64()),
    ]
)
"""One row a structure: its bytes in the segments of its table (scoring.index_sizes).

``known_bytes``: in segments that have it already. ``uniform_bytes``: in the others, from their
metadata alone; the last three are sums over segments whose rows were read as well.
"""

QUANTILE_SKETCHES = pa.schema(
    [
        ("table", pa.string()),
        ("measure", pa.string()),
        ("values", pa.list_(pa.int64())),
        ("counts", pa.list_(pa.int64())),
        ("is_rounded", pa.bool_()),
    ]
)
"""Values and their counts, a row a table and measure (latency.quantiles); never published."""

QUANTILES = pa.schema(
    [
        ("table", pa.string()),
        ("measure", pa.string()),
        ("values", pa.list_(pa.float64())),
        ("n", pa.int64()),
    ]
)
"""A row a table and measure: values at latency.quantiles.RANKS (none without queries), and their number."""

RECOMMENDATIONS = pa.schema(
    [
        ("table", pa.string()),
        ("verdict", pa.string()),
        ("kind", pa.string()),
        ("column", pa.string()),
        ("rank", pa.int32()),
        ("individual_saving_ratio", pa.float64()),
        ("progressive_saving_ratio", pa.float64()),
        ("saving_ms", pa.float64()),
        ("shapes_helped", pa.int64()),
        ("size_bytes", pa.int64()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
"""One row a structure that was considered; ``verdict`` is "chosen", "refused" or "drop".

Ratios are shares of all entries the table's queries scanned in filter; ``saving_ms``: milliseconds of a
mean query, null without latencies, and of structures that are not chosen. ``rank`` is 1 for the best chosen
structure and null otherwise. The curve over K and the interval are properties of the part.
"""

STAR_TREE_BUILDS = pa.schema(
    [
        ("table", pa.string()),
        ("tree", pa.int32()),
        ("config", pa.string()),
        ("outcome", pa.string()),
        ("detail", pa.string()),
        ("rows", pa.int64()),
        ("documents", pa.int64()),
        ("size_bytes", pa.int64()),
        ("estimated_documents", pa.int64()),
        ("estimated_bytes", pa.int64()),
    ]
)
"""One row a star-tree that a night had to build, with the outcome and the tree's present state.

``tree`` counts from 1, in the order of the recommendation; ``config`` is an entry of Pinot's
``starTreeIndexConfigs`` as JSON. ``outcome``: "unchanged", "refreshed", "built", "failed" or "not_built".
``rows``: rows of the lake table in the tree; ``rows``, ``documents`` and ``size_bytes`` are null without a
tree.
"""

VERDICTS = pa.schema(
    [
        ("table", pa.string()),
        ("shape_id", pa.string()),
        ("instance", pa.int32()),
        ("tree", pa.int32()),
        ("verdict", pa.string()),
        ("detail", pa.string()),
        ("answer_rows", pa.int64()),
        ("tree_rows_read", pa.int64()),
        ("scan_rows_read", pa.int64()),
        ("tree_ms", pa.float64()),
        ("scan_ms", pa.float64()),
    ]
)
"""One row a query to be answered both ways, from a star-tree and by a scan (verification.prove_query).

``verdict`` as in Agreement; "not_proved" if the query was not asked, as ``detail`` explains.

``instance`` counts a shape's queries from 1; queries that scanned most come first. ``tree``: as in
STAR_TREE_BUILDS, null where no tree answered. An aggregated document is one row.
"""

LEDGER = pa.schema(
    [
        ("table", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("who", pa.string()),
        ("event", pa.string()),
        ("reason", pa.string()),
        ("until", pa.date32()),
        ("source", pa.string()),
        ("application", pa.string()),
        ("index", pa.string()),
        ("family", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("is_drop", pa.bool_()),
        ("config", pa.string()),
        ("shapes", pa.list_(pa.string())),
        ("predicted_saving_ratio", pa.float64()),
        ("predicted_alone_ratio", pa.float64()),
        ("predicted_low", pa.float64()),
        ("predicted_high", pa.float64()),
        ("predicted_saving_ms", pa.float64()),
        ("predicted_bytes", pa.int64()),
        ("measured_saving_ratio", pa.float64()),
        ("measured_saving_ms", pa.float64()),
        ("table_predicted_saving_ratio", pa.float64()),
        ("table_measured_saving_ratio", pa.float64()),
        ("table_logged_ms", pa.float64()),
        ("table_predicted_saving_ms", pa.float64()),
        ("table_predicted_low_ms", pa.float64()),
        ("table_predicted_high_ms", pa.float64()),
        ("table_replayed_ms", pa.float64()),
        ("table_measured_saving_ms", pa.float64()),
        ("reloaded_bytes", pa.int64()),
        ("reload_seconds", pa.float64()),
        ("detail", pa.string()),
    ]
)
"""One row an index and event, never changed again; ``event`` is one of advisor.ledger.entry.

``source``: the night or file of the advice, ``application``: the run that applied it. ``config``: the keys of
the table config that the index sets, as JSON. Savings are shares of all entries of the table's queries, and
milliseconds a query; ``predicted_low`` and ``predicted_high``: the 90 % interval of the whole advice.
``predicted_alone_ratio``: as in advisor.ledger.advised_index.
``table_logged_ms``: a mean query's time by the log, of which the whole advice was predicted to save
``table_predicted_saving_ms``; ``table_replayed_ms``: by the replay before the change. These, and the
predicted savings of the whole, are null where only a part of the advice was approved.
``reloaded_bytes``: of the segments of the server that holds most, ``reload_seconds``: until all servers had
reloaded theirs; the same in each row of an application.
"""
