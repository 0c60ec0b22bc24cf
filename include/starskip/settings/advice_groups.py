"""The groups of settings that decide the advice: which queries count, what is advised, how it is scored."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.settings.declared import setting
from starskip.settings.group import SettingsGroup

STRATEGIES = ("leapfrog", "estimation", "parser", "frequency")
ENTRIES = "entries"
MS = "ms"
UNITS = ("auto", MS, ENTRIES)
"""Units in which indexes are chosen."""

ALL = "all"

_STRATEGY_ALIASES = {"freq": "frequency"}
"""The name that Pinot's own tuner has for it."""
_TUNER = "Automated inverted index recommendation"
_MOST_DAYS = 3_650
"""Ten years: what calendars can count back."""


@dataclass(frozen=True, slots=True)
class WorkloadSettings(SettingsGroup):
    """Settings of which queries count, and how much."""

    group = "workload"
    heading = "Which queries count"

    entries_scanned_threshold: int = setting(
        0,
        "Only queries that scanned more entries in filter than this vote.",
        title="Entries scanned, threshold",
        unit="entries a query",
        source=f"{_TUNER}, III.5",
        at_least=0,
    )
    num_queries_threshold: int = setting(
        0,
        "A table with fewer voting queries gets no advice that night.",
        title="Number of queries, threshold",
        unit="queries a table",
        source=f"{_TUNER}, III.5",
        at_least=0,
    )
    query_weights: str = setting(
        "",
        'Weights of queries, by table or query text; others weigh 1: {"table": 2, "SELECT …": 10}.',
        title="Weights of queries",
        source=f"{_TUNER}, II.3 C",
        json_values={"type": "number", "minimum": 0, "maximum": 1e9},
        allowed='a JSON object such as {"table": 2}',
    )
    look_back_nights: int = setting(
        7,
        "How many nights vote, this night included; older nights count less. 1 takes this night alone.",
        title="Nights that vote",
        unit="nights",
        at_least=1,
        at_most=_MOST_DAYS,
    )
    look_back_decay_ratio: float = setting(
        0.8,
        "Weight of a night against the one after it; 1 lets all nights count the same.",
        title="Weight of the night before",
        unit="share",
        at_least=0,
        at_most=1,
    )
    instances_per_shape: int = setting(
        64,
        "Queries of a shape whose literals are kept; more changed no advice on the samples.",
        unit="queries a shape",
        at_least=1,
    )
    max_shapes_per_table: int = setting(
        2_000,
        "Shapes of a table that vote, the busiest first; all others only add to the entries scanned.",
        unit="shapes a table",
        at_least=1,
    )


@dataclass(frozen=True, slots=True)
class AdviceSettings(SettingsGroup):
    """Settings of the advice, and when an index is worth it."""

    group = "advice"
    heading = "What is advised"

    index_kinds: str = setting(
        ALL,
        "Kinds of index to consider.",
        title="Kinds of index",
        is_list=True,
        pattern=r"[a-z]\w*(,[a-z]\w*)*",
        allowed=f"{ALL}, or names of kinds separated by commas",
    )
    max_indexes: int = setting(
        8,
        "K, the largest number of a table's indexes, star-trees and a sort order included; fewer may do.",
        title="Largest number of indexes (K)",
        unit="indexes a table",
        source=f"{_TUNER}, II.3 C",
        at_least=1,
    )
    unit: str = setting(
        "auto",
        "What savings are compared by; auto: milliseconds where the latency model is trusted, else entries.",
        title="Unit of the choice",
        choices=UNITS,
    )
    min_gain_ratio: float = setting(
        0.005,
        "Each further index must save at least this share of the entries in filters; 0 uses up K.",
        title="Least gain of an index (G0)",
        unit="share",
        source=_TUNER,
        at_least=0,
        at_most=1,
    )
    index_budget_bytes: int | None = setting(
        None,
        "Upper limit on the estimated sizes of a table's new indexes together.",
        title="Storage budget in bytes",
        unit="bytes",
        at_least=1,
    )
    desirable_entries_scanned_in_filter: int | None = setting(
        None,
        "Once enough queries scan at most this many entries, no further index is advised.",
        title="Desirable entries scanned in filter",
        unit="entries a query",
        source=f"{_TUNER}, III.1",
        at_least=1,
    )
    desirable_query_ratio: float = setting(
        0.9,
        "Share of the queries that must scan at most the desirable entries, if these are set.",
        title="Share of queries within the desirable entries",
        unit="share",
        at_least=0,
        at_most=1,
    )
    choice_time_s: float = setting(
        20.0,
        "After this time the best set found so far is taken; the report says how good it is at least.",
        title="Time for the choice",
        unit="seconds a table",
        at_least=0.1,
    )
    switch_gain_ratio: float = setting(
        0.01,
        "Last night's advice is kept unless a change saves at least this share of all entries more.",
        title="Least gain of a swap",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_drop_loss_ratio: float = setting(
        0.001,
        "An existing index that saves at most this share of all entries is proposed for removal.",
        title="Most that a drop may cost",
        unit="share",
        at_least=0,
        at_most=1,
    )
    min_drop_queries: int = setting(
        100,
        "Removals are judged only with at least this many queries, over all nights that vote.",
        unit="queries a table",
        at_least=1,
    )
    max_drop_unparsed_ratio: float = setting(
        0.01,
        "Removals are judged only if at most this share of a table's queries is not understood.",
        unit="share",
        at_least=0,
        at_most=1,
    )
    model_error_ratio: float = setting(
        0.0125,
        "Standard deviation of the cost model, which widens the interval of a saving.",
        unit="share",
        source="calibrated by `make bench-advice`",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, slots=True)
class ScoringSettings(SettingsGroup):
    """Settings of how savings are estimated."""

    group = "scoring"
    heading = "How savings are estimated"

    strategy: str = setting(
        "leapfrog",
        "How votes are scored; estimation needs no rows, parser and frequency are baselines.",
        title="Strategy",
        source=f"{_TUNER}, II.2 and II.3",
        choices=STRATEGIES,
        aliases=_STRATEGY_ALIASES,
    )
    pinot_version: str = setting(
        "0.11",
        "Version of Pinot to advise for: it decides which index serves which predicate.",
        title="Pinot version",
        source="the rules of 0.11 are measured, the rules of other versions read in Pinot's source",
        pattern=r"\d+(\.\d+){1,2}(-\w+)?",
        allowed="a version such as 0.11 or 1.2.0",
    )
    untracked_inverted_index: str = setting(
        "",
        'Inverted indexes that neither segments nor table configs show: {"table": ["column"]}.',
        title="Untracked inverted indexes",
        source=f"{_TUNER}, III.5",
        json_values={"type": "array", "items": {"type": "string"}},
        allowed='a JSON object such as {"table": ["column"]}',
    )
    selectivity_threshold: float = setting(
        1.0,
        "Above 1, columns with a selectivity (about their cardinality) at or below this get no votes.",
        title="Least selectivity of a column (S)",
        unit="values",
        source=f"{_TUNER}, III.5",
        at_least=0,
    )
    exclusive_vote_ratio: float = setting(
        0.8,
        "Strategy estimation: columns that save this share of the best column's saving are alternatives.",
        title="Share of the best saving that competes (g0)",
        unit="share",
        source=f"{_TUNER}, II.3 B",
        at_least=0,
        at_most=1,
    )
    sufficient_column_scans: float = setting(
        1.0,
        "Strategy estimation: at or below this cost, a further index must save incremental_column_scans.",
        title="Scans of a column that are few enough (C0)",
        unit="scans of a column",
        source=f"{_TUNER}, II.3 B",
        at_least=0,
    )
    incremental_column_scans: float = setting(
        0.05,
        "Strategy estimation: a further index for the same query gets a vote if it saves this much.",
        title="Scans of a column that a further index must save",
        unit="scans of a column",
        at_least=0,
    )
    window_rows_per_table: int = setting(
        131_072, "Rows of a table on which filters are simulated.", unit="rows a table", at_least=1
    )
    max_sampled_segments: int = setting(
        32, "Segments of a table from which these rows are taken.", unit="segments a table", at_least=1
    )
    max_simulations_per_table: int = setting(
        8_000,
        "Simulations of a table (queries times segments); beyond, a shape has the fewer the less it scans.",
        unit="simulations a table",
        at_least=1,
    )
