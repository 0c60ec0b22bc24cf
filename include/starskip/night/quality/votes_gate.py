"""The gate behind score_votes: a workload that holds the night's queries, and plausible votes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from starskip.advisor.families.families import reorders
from starskip.advisor.families.index import parse_index
from starskip.advisor.run.artefact_rows import earlier_snapshot, published
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    equal,
    in_set,
    none,
    present,
    warn_only,
)
from starskip.advisor.run.gate import Gate, fields_view
from starskip.advisor.run.night import Night
from starskip.advisor.workload.fold_shapes import FOLDED
from starskip.advisor.workload.shape_workload import UNPARSED, WHOLLY_REDACTED
from starskip.errors import StorageError, StorageOutage
from starskip.night.quality.count_rows import sum_of
from starskip.night.quality.known_columns import KnownColumns, known_columns
from starskip.night.quality.queries_gate import counted_queries
from starskip.settings import Settings

_TOLERANCE_RATIO = 1e-6
"""Savings are sums of floats."""
_GREATEST = 1e300
_MOST_GONE_RATIO = 0.5
_ENTRIES = "entries_scanned_in_filter"
_SHAPE_COLUMNS = [
    "table",
    "shape_id",
    "queries",
    "failed",
    _ENTRIES,
    f"{_ENTRIES}_squared",
    f"failed_{_ENTRIES}",
    "entries_scanned_post_filter",
    "latency_ms_sum",
    "unlogged_queries",
    f"unlogged_{_ENTRIES}",
    f"unlogged_{_ENTRIES}_squared",
    "unlogged_latency_ms_sum",
    "weight",
]
_COUNTS = [name for name in _SHAPE_COLUMNS if name not in ("table", "shape_id")]
_VOTE_VALUES = ("leg", "saving_entries", "saving_entries_squared", "saving_entries_cross", "is_complete")


def _views(night: Night, table: str) -> Mapping[str, View]:
    # Without the literals: a shape may hold 64 samples of any length.
    shapes = published(night, "workload").read_table([table], _SHAPE_COLUMNS).to_pylist()
    votes = published(night, "votes").read_table([table]).to_pylist()
    entries = {row["shape_id"]: _weighted_entries(row) for row in shapes}
    known = known_columns(night, table)
    for row in shapes:
        row["is_of_table"] = row["table"] == table
    for row in votes:
        _add_to_vote(row, table, entries.keys(), known)
    return {
        "workload": View([_workload(night, table, shapes)]),
        "shapes": View(shapes, "shape_id"),
        "shape_fields": fields_view(shapes, _COUNTS),
        "votes": View(votes, "shape_id"),
        "vote_fields": fields_view(votes, _VOTE_VALUES),
        "disjuncts": View(_disjuncts(votes), "shape_id"),
        "voters": View(_voters(votes, entries), "shape_id"),
    }


def _workload(night: Night, table: str, shapes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    logged, _ = counted_queries(night, table)
    queries = sum(row["queries"] or 0 for row in shapes)
    # Texts beyond the cap are not checked: the checked ones stand for them.
    looked_at = [row for row in shapes if row["shape_id"] != FOLDED]
    unparsed = [row for row in looked_at if _is_not_understood(row["shape_id"] or "")]
    looked_at_entries = sum(row[_ENTRIES] or 0 for row in looked_at)
    ratios = (
        sum(row["queries"] or 0 for row in unparsed) / max(sum(row["queries"] or 0 for row in looked_at), 1),
        sum(row[_ENTRIES] or 0 for row in unparsed) / looked_at_entries if looked_at_entries else 1.0,
    )
    return {
        "queries": queries,
        "logged_queries": logged["queries"],
        "entries": sum(row[_ENTRIES] or 0 for row in shapes),
        "logged_entries": sum_of(logged, _ENTRIES),
        # Many queries that scan little, such as joins of small tables, do not mislead the advice.
        "unparsed_ratio": min(ratios),
        "gone_ratio": _gone_ratio(night, table, {row["shape_id"] for row in shapes}),
        "shapes": len(shapes),
    }


def _gone_ratio(night: Night, table: str, shape_ids: Collection[str]) -> float | None:
    """Return the share of an earlier night's entries whose shapes nobody asked tonight; None without one."""
    earlier = earlier_snapshot(night, "workload", table)
    if earlier is None:
        return None
    try:
        rows = earlier.read_table([table], ["shape_id", _ENTRIES]).to_pylist()
    except StorageOutage:
        raise
    except StorageError:
        return None
    all_entries = sum(row[_ENTRIES] or 0 for row in rows)
    gone = sum(row[_ENTRIES] or 0 for row in rows if row["shape_id"] not in shape_ids)
    return gone / all_entries if all_entries else None


def _is_not_understood(shape_id: str) -> bool:
    """Leave out shapes beyond the cap, which were understood all the same, and texts that were not logged."""
    return shape_id.startswith(UNPARSED) and shape_id not in (FOLDED, UNPARSED + WHOLLY_REDACTED)


def _weighted_entries(shape: Mapping[str, Any]) -> float:
    ran = (shape[_ENTRIES] or 0) + (shape[f"unlogged_{_ENTRIES}"] or 0)
    return float(ran * (shape["weight"] or 0.0))


def _add_to_vote(row: dict[str, Any], table: str, shape_ids: Collection[str], known: KnownColumns) -> None:
    indexes = [parse_index(text or "") for text in row["structures"] or ()]
    row["is_of_table"] = row["table"] == table
    row["set"] = tuple(sorted(map(str, indexes)))
    row["is_set"] = bool(indexes) and len(set(indexes)) == len(indexes)
    row["is_of_known_kind"] = all(each.family in known.families for each in indexes)
    # A sort order without a column stands for the order that any other column would bring.
    named = [s.column for s in indexes if s.column or not reorders(s)]
    row["is_of_known_columns"] = known.columns.issuperset(named)
    row["is_of_parsed_shape"] = row["shape_id"] in shape_ids and not str(row["shape_id"]).startswith(UNPARSED)


def _disjuncts(votes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each disjunct: its number of sets, and the number that a complete one must have."""
    grouped: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in votes:
        grouped.setdefault((row["shape_id"], row["leg"]), []).append(row)
    rows = []
    for (shape_id, disjunct), of_disjunct in grouped.items():
        indexes = {text for row in of_disjunct for text in row["set"]}
        is_complete = any(row["is_complete"] for row in of_disjunct)
        wanted = 2 ** min(len(indexes), 62) - 1 if is_complete else len(of_disjunct)
        best = max(0.0, *(row["saving_entries"] or 0.0 for row in of_disjunct))
        is_order = any(reorders(parse_index(text)) for text in indexes)
        rows.append(
            {
                "shape_id": shape_id,
                "leg": disjunct,
                "sets": len(of_disjunct),
                "wanted_sets": wanted,
                "best": best,
            }
            | {"reorders": is_order}
        )
    return rows


def _voters(votes: Sequence[Mapping[str, Any]], entries: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return one row for each shape: the saving of the best sets of all its disjuncts, and its entries.

    Sort orders vote for the same disjuncts once more, so a shape has up to two rows.
    """
    saved: dict[tuple[str, bool], float] = {}
    for disjunct in _disjuncts(votes):
        key = (disjunct["shape_id"], disjunct["reorders"])
        saved[key] = saved.get(key, 0.0) + disjunct["best"]
    return [
        {
            "shape_id": shape_id,
            "saving_entries": saving,
            "saving_limit": entries.get(shape_id, 0) * (1 + _TOLERANCE_RATIO) + _TOLERANCE_RATIO,
        }
        for (shape_id, _), saving in saved.items()
    ]


def _expectations(settings: Settings) -> Sequence[Expectation]:
    return (*_workload_expectations(settings), *_vote_expectations())


def _workload_expectations(settings: Settings) -> Sequence[Expectation]:
    same, most_shapes = "equal", settings.workload.max_shapes_per_table
    return (
        equal("workload", "queries", "logged_queries", "queries of {table}: in shapes, and in the log", same),
        equal(
            "workload",
            "entries",
            "logged_entries",
            f"{_ENTRIES} of {{table}}: in shapes, and in the log",
            same,
        ),
        between(
            "workload",
            "unparsed_ratio",
            "queries of {table}: share without a shape",
            0,
            settings.gates.max_unparsed_ratio,
        ),
        warn_only(
            between(
                "workload",
                "gone_ratio",
                "queries of {table}: share of the last night's entries whose shapes are gone",
                0,
                _MOST_GONE_RATIO,
            )
        ),
        # One row beyond the cap holds the sums of all shapes that it cut.
        between(
            "workload",
            "shapes",
            "shapes of {table}: number",
            None,
            most_shapes + 1,
        ),
        in_set("shapes", "is_of_table", "shapes of {table}: rows of this table", [True]),
        present("shapes", "shape_id", "shapes of {table}: missing shape_id"),
        distinct("shapes", ["shape_id"], "shapes of {table}: given twice"),
        none("shape_fields", "missing", "shapes of {table}: fields with missing values"),
        between("shapes", "queries", "queries of shapes of {table}: minimum", 1),
        between("shape_fields", "minimum", "shapes of {table}: minimum of each field", 0),
        at_most(
            "shapes", "failed", "queries", "failed queries of shapes of {table}, and all", "no more than all"
        ),
        at_most(
            "shapes",
            f"failed_{_ENTRIES}",
            _ENTRIES,
            f"{_ENTRIES} of failed queries of shapes of {{table}}, and of all",
            "no more than of all",
        ),
    )


def _vote_expectations() -> Sequence[Expectation]:
    return (
        in_set("votes", "is_of_table", "votes of {table}: rows of this table", [True]),
        in_set("votes", "is_of_parsed_shape", "votes of {table}: of shapes in the workload", [True]),
        in_set("votes", "is_set", "votes of {table}: for a set of indexes", [True]),
        in_set("votes", "is_of_known_kind", "votes of {table}: for indexes of a known kind", [True]),
        in_set("votes", "is_of_known_columns", "votes of {table}: for columns of the table", [True]),
        distinct("votes", ["shape_id", "leg", "set"], "votes of {table}: given twice"),
        none("vote_fields", "missing", "votes of {table}: fields with missing values"),
        # An index can make a query read many times as much as now: no bound but a number.
        between(
            "votes", "saving_entries", "saving_entries of {table}: a number", -_GREATEST, expected="a number"
        ),
        between(
            "votes", "saving_entries_squared", "saving_entries_squared of {table}: minimum", 0, _GREATEST
        ),
        between(
            "votes",
            "saving_entries_cross",
            "saving_entries_cross of {table}: a number",
            -_GREATEST,
            _GREATEST,
            expected="a number",
        ),
        equal(
            "disjuncts",
            "sets",
            "wanted_sets",
            "votes of {table}: sets of disjuncts that say they have all",
            "all of them",
        ),
        at_most(
            "voters",
            "saving_entries",
            "saving_limit",
            "saving_entries of {table}: all disjuncts of a shape, and its entries",
            "no more than the shape scans",
        ),
    )


VOTES_GATE = Gate(_views, _expectations)
