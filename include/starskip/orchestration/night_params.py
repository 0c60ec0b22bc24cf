"""The params of the nightly DAG: what a person may ask of one run, checked before anything starts."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

from starskip.indexes.families import BUILT_IN
from starskip.settings import STRATEGIES

TABLE_NAME_PATTERN = r"^([A-Za-z0-9_][A-Za-z0-9_.\-]*)?$"
"""Names that Pinot takes; a name that begins with a dash could be read as an option of a command.

An empty name passes, since the form sends one for every empty line; ``night_request`` leaves it out.
"""

_COUNTED = "Which queries count"
_ADVISED = "What is advised"
_ESTIMATED = "How savings are estimated"
_BUILT = "What is built and checked"
_STOPPED = "What stops a table, and what its report shows"


def night_params() -> dict[str, Param]:
    """Return the params by name, as the form shows them; null means "as configured", for tables "all"."""
    return {
        "run_date": Param(
            None,
            type=["null", "string"],
            format="date",
            title="Night",
            description="The day whose queries are read. Empty: the day in which the data interval starts.",
        ),
        "tables": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": TABLE_NAME_PATTERN, "maxLength": 200},
            maxItems=1000,
            title="Tables",
            description="Names without type suffix, one a line. Empty: as configured, else all tables.",
        ),
        "entries_scanned_threshold": _number(
            "Entries scanned, threshold",
            "Only queries that scanned more entries in filter than this vote.",
            section=_COUNTED,
        ),
        "num_queries_threshold": _number(
            "Number of queries, threshold",
            "A table with fewer such queries gets no advice that night.",
            section=_COUNTED,
        ),
        "query_weights": _object(
            "Weights of queries",
            'What the entries of a table\'s queries, or of one query, count: {"table": 2, "SELECT …": 10}.',
            of={"type": "number", "minimum": 0, "maximum": 1e9},
            section=_COUNTED,
        ),
        "look_back_nights": _number(
            "Nights that vote",
            "This night and those before it, the older the less; 1 asks this night alone.",
            section=_COUNTED,
            minimum=1,
            maximum=400,
        ),
        "look_back_decay_ratio": _share(
            "Weight of the night before",
            "What a night counts against the one after it; 1 lets all nights count the same.",
            section=_COUNTED,
        ),
        "index_kinds": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "enum": [family.name for family in BUILT_IN]},
            uniqueItems=True,
            examples=[family.name for family in BUILT_IN],
            title="Kinds of index",
            description="What is considered. Empty: as configured, else all of them.",
            section=_ADVISED,
        ),
        "max_indexes": _number(
            "Largest number of indexes (K)",
            "An upper bound a table; the least gain stops earlier.",
            section=_ADVISED,
            minimum=1,
            maximum=64,
        ),
        "min_gain_ratio": _share(
            "Least gain (G0)",
            "Share of all entries scanned that one more index must save; 0.05 in the sample's configuration.",
            section=_ADVISED,
        ),
        "index_budget_bytes": _number(
            "Storage budget in bytes",
            "What a table's new indexes may take together, by their estimated sizes.",
            section=_ADVISED,
            minimum=1,
        ),
        "desirable_entries_scanned_in_filter": _number(
            "Desirable entries scanned in filter",
            "Entries a query that are few enough: with them reached no further index is advised.",
            section=_ADVISED,
            minimum=1,
        ),
        "desirable_query_ratio": _share(
            "Share of queries within the desirable entries",
            "How many of the queries must stay within them; counts only where they are given.",
            section=_ADVISED,
        ),
        "switch_gain_ratio": _share(
            "Least gain of a swap",
            "Share of all entries scanned that a swap in the last night's advice must save; 0 swaps freely.",
            section=_ADVISED,
        ),
        "max_drop_loss_ratio": _share(
            "Most that a drop may cost",
            "Share of all entries scanned that an existing index may save and be proposed as a drop.",
            section=_ADVISED,
        ),
        "max_star_trees": _number(
            "Largest number of star-trees",
            "Beside the indexes; leave star_tree out of the kinds of index for none.",
            section=_ADVISED,
            minimum=1,
            maximum=6,
        ),
        "max_tree_size_ratio": _share(
            "Most that a star-tree may take",
            "Share of the table's rows, and of its bytes; a larger tree is refused.",
            section=_ADVISED,
        ),
        "max_skipping_size_ratio": _share(
            "Most that skipping indexes may take",
            "Share of a lake table's bytes, all of them together; 0.05 if left out.",
            section=_ADVISED,
        ),
        "tree_gain_size_ratio": _share(
            "Size for which a star-tree must save the least gain",
            "Share of the table's bytes; a tree of twice as much must save twice as much.",
            section=_ADVISED,
        ),
        "strategy": Param(
            None,
            type=["null", "string"],
            enum=[*STRATEGIES, None],
            values_display={"null": "as configured"},
            title="Strategy",
            description="How votes are scored; estimation needs no rows, parser and frequency are baselines.",
            section=_ESTIMATED,
        ),
        "pinot_version": Param(
            None,
            type=["null", "string"],
            pattern=r"^\d+(\.\d+){1,2}(-\w+)?$",
            maxLength=40,
            title="Pinot version",
            description="Decides which index serves which predicate, such as 0.11 or 1.2.0.",
            section=_ESTIMATED,
        ),
        "untracked_inverted_index": _object(
            "Untracked inverted indexes",
            'Indexes that neither segments nor table configs show: {"table": ["column"]}.',
            of={"type": "array", "items": {"type": "string"}},
            section=_ESTIMATED,
        ),
        "selectivity_threshold": _number(
            "Least selectivity of a column",
            "Only columns with more distinct values than this, about, get votes; 1 is the least.",
            section=_ESTIMATED,
            kind="number",
        ),
        "exclusive_vote_ratio": _share(
            "Share of the best saving that competes (g0)",
            "Strategy estimation: columns that save this much of the best one's saving rule each other out.",
            section=_ESTIMATED,
        ),
        "sufficient_column_scans": _number(
            "Scans of a column that are few enough (C0)",
            "Strategy estimation: with no more left, a query asks for no further index.",
            section=_ESTIMATED,
            kind="number",
        ),
        "incremental_column_scans": _number(
            "Scans of a column that a further index must save",
            "Strategy estimation: a further index for the same query votes if it saves this much.",
            section=_ESTIMATED,
            kind="number",
        ),
        "latency_r2_threshold": _share(
            "Least R² of the latency model",
            "Centred, out of sample; below it savings are entries scanned, which are not time.",
            section=_ESTIMATED,
        ),
        "build_indexes": _yes_or_no(
            "Build",
            "Whether what is chosen for tables of the lake is built. A backfill never builds.",
            section=_BUILT,
        ),
        "verified_instances": _number(
            "Queries answered both ways",
            "So many of each shape that a star-tree answers, those that scanned most; each costs a scan.",
            section=_BUILT,
            minimum=1,
            maximum=64,
        ),
        "max_rejected_ratio": _share(
            "Most rejected log records",
            "Share of the log's records that no format explains.",
            section=_STOPPED,
        ),
        "max_unparsed_ratio": _share(
            "Most unparsed queries",
            "Share of a table's queries whose filter is not understood.",
            section=_STOPPED,
        ),
        "max_damaged_ratio": _share(
            "Most damaged segments",
            "Share of a table's segments that cannot be read.",
            section=_STOPPED,
        ),
        "show_literals": _yes_or_no(
            "Show literals",
            "Whether reports show the values in queries, which may be personal data.",
            section=_STOPPED,
        ),
    }


def _number(
    title: str, description: str, *, kind: str = "integer", minimum: float = 0, **schema: Any
) -> Param:
    return Param(None, type=["null", kind], minimum=minimum, title=title, description=description, **schema)


def _share(title: str, description: str, *, section: str) -> Param:
    return _number(title, description, kind="number", maximum=1, section=section)


def _yes_or_no(title: str, description: str, *, section: str) -> Param:
    return Param(None, type=["null", "boolean"], title=title, description=description, section=section)


def _object(title: str, description: str, *, of: dict[str, Any], section: str) -> Param:
    return Param(
        None,
        type=["null", "object"],
        additionalProperties=of,
        maxProperties=1000,
        title=title,
        description=description,
        section=section,
    )


SETTING_PARAMS = tuple(name for name in night_params() if name not in ("run_date", "tables"))
"""The params that are settings of the same name; left empty, the configuration of the night decides."""
