"""The params of the nightly DAG: what a person may ask of one run, checked before anything starts."""

from __future__ import annotations

from airflow.sdk import Param

from starskip.settings import INDEX_KINDS, STRATEGIES

TABLE_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command."""

SETTING_PARAMS = (
    "strategy",
    "selectivity_threshold",
    "entries_scanned_threshold",
    "num_queries_threshold",
    "untracked_inverted_index",
    "query_weights",
    "pinot_version",
    "index_kinds",
    "max_indexes",
    "min_gain_ratio",
    "index_budget_bytes",
    "desirable_entries_scanned_in_filter",
    "desirable_query_ratio",
    "look_back_nights",
    "latency_r2_threshold",
    "max_rejected_ratio",
    "max_unparsed_ratio",
    "max_damaged_ratio",
    "show_literals",
)
"""The params that are settings of the same name; left empty, the configuration of the night decides."""


def night_params() -> dict[str, Param]:
    """Return the params by name; each but ``tables`` may be null, which means "as configured"."""
    return {
        "run_date": Param(
            None,
            type=["null", "string"],
            format="date",
            title="Night",
            description="The day whose queries are read. Empty: the day in which the data interval starts.",
        ),
        "tables": Param(
            [],
            type="array",
            items={"type": "string", "pattern": TABLE_NAME_PATTERN, "maxLength": 200},
            maxItems=1000,
            title="Tables",
            description="Table names without type suffix, one a line. Empty: all tables that have segments.",
        ),
        "strategy": Param(
            None,
            type=["null", "string"],
            enum=[*STRATEGIES, None],
            title="Strategy",
            description="How votes are scored; estimation needs no rows, parser and frequency are baselines.",
        ),
        "selectivity_threshold": Param(
            None,
            type=["null", "number"],
            minimum=0,
            title="Least selectivity of a column",
            description="Only columns with more distinct values than this, about, get votes; 1 is the least.",
        ),
        "entries_scanned_threshold": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="Entries scanned, threshold",
            description="Only queries that scanned more entries in filter than this vote.",
        ),
        "num_queries_threshold": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="Number of queries, threshold",
            description="A table with fewer such queries gets no advice that night.",
        ),
        "untracked_inverted_index": Param(
            None,
            type=["null", "string"],
            maxLength=100_000,
            title="Untracked inverted indexes",
            description='Indexes that neither segments nor table configs show: {"table": ["column"]}.',
        ),
        "query_weights": Param(
            None,
            type=["null", "string"],
            maxLength=100_000,
            title="Weights of queries",
            description='What the entries of a table\'s queries, or of one query, count: {"table": 2}.',
        ),
        "pinot_version": Param(
            None,
            type=["null", "string"],
            pattern=r"^\d+(\.\d+){1,2}(-\w+)?$",
            maxLength=40,
            title="Pinot version",
            description="Decides which index serves which predicate, such as 0.11 or 1.2.0.",
        ),
        "index_kinds": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "enum": list(INDEX_KINDS)},
            minItems=1,
            uniqueItems=True,
            examples=list(INDEX_KINDS),
            title="Kinds of index",
            description="What is considered. Empty: as configured, else all of them.",
        ),
        "max_indexes": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            maximum=64,
            title="Largest number of indexes (K)",
            description="An upper bound a table; the least gain stops earlier.",
        ),
        "min_gain_ratio": _share(
            "Least gain (G0)",
            "Share of all entries scanned that one more index must save; 0.05 in the sample's configuration.",
        ),
        "index_budget_bytes": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="Storage budget in bytes",
            description="What a table's new indexes may take together, by their estimated sizes.",
        ),
        "desirable_entries_scanned_in_filter": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="Desirable entries scanned in filter",
            description="Entries a query that are few enough: with them reached no further index is advised.",
        ),
        "desirable_query_ratio": _share(
            "Share of queries within the desirable entries",
            "How many of the queries must stay within them; counts only where they are given.",
        ),
        "look_back_nights": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            maximum=400,
            title="Nights that vote",
            description="This night and those before it, the older the less; 1 asks this night alone.",
        ),
        "latency_r2_threshold": _share(
            "Least R² of the latency model",
            "Centred, out of sample; below it the advice counts entries scanned, not milliseconds.",
        ),
        "max_rejected_ratio": _share(
            "Most rejected log records", "Share of the log's records that no format explains."
        ),
        "max_unparsed_ratio": _share(
            "Most unparsed queries", "Share of a table's queries whose filter is not understood."
        ),
        "max_damaged_ratio": _share(
            "Most damaged segments", "Share of a table's segments that cannot be read."
        ),
        "show_literals": Param(
            None,
            type=["null", "boolean"],
            enum=[True, False, None],
            title="Show literals",
            description="Whether reports show the values in queries, which may be personal data.",
        ),
    }


def _share(title: str, description: str) -> Param:
    return Param(None, type=["null", "number"], minimum=0, maximum=1, title=title, description=description)
