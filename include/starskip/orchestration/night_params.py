"""The params of the nightly DAG: what a person may ask of one run, checked before anything starts."""

from __future__ import annotations

from airflow.sdk import Param

from starskip.settings import STRATEGIES

TABLE_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command."""

SETTING_PARAMS = (
    "strategy",
    "selectivity_threshold",
    "entries_scanned_threshold",
    "num_queries_threshold",
    "untracked_inverted_index",
    "max_indexes",
    "min_gain_ratio",
    "latency_r2_threshold",
    "max_rejected_ratio",
    "max_unparsed_ratio",
    "max_damaged_ratio",
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
    }


def _share(title: str, description: str) -> Param:
    return Param(None, type=["null", "number"], minimum=0, maximum=1, title=title, description=description)
