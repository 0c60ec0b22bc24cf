"""The gate behind select_indexes: advice within its budget that contradicts nothing.

Source: Automated Inverted Index Recommendation, II.3 C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from starskip.advisor.families.verdict import Reason
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
from starskip.advisor.run.gate import Gate, mapping_of, number_of
from starskip.advisor.run.night import Night
from starskip.advisor.selection.recommendation import Stop
from starskip.night.quality.known_columns import KnownColumns, known_columns
from starskip.settings import Settings

_VERDICTS = ("chosen", "refused", "drop")
_REASONS = [reason.value for reason in Reason]
_TOLERANCE = 1e-6
_MOST_JUMP = 0.25


def _views(night: Night, table: str) -> Mapping[str, View]:
    recommendations = published(night, "recommendations")
    properties = recommendations.parts()[table].properties
    rows = recommendations.read_table([table]).to_pylist()
    known = known_columns(night, table)
    chosen = [row for row in rows if row["verdict"] == "chosen"]
    rejected = {_structure(row) for row in rows if row["verdict"] != "chosen"}
    for row in rows:
        _add_to_row(row, table, known, rejected)
    saving = mapping_of(properties.get("saving"))
    low, ratio, high = (number_of(saving.get(name)) for name in ("low", "ratio", "high"))
    progressive = sum(row["progressive_saving_ratio"] or 0.0 for row in chosen)
    answers = properties.get("answers")
    workload = published(night, "workload").read_table([table], ["queries", "entries_scanned_in_filter"])
    view = {
        "low": low,
        "ratio": ratio,
        "high": high,
        # Sums of floats: the three may differ where they are equal.
        "low_limit": None if low is None else low - _TOLERANCE,
        "high_limit": None if high is None else high + _TOLERANCE,
        "jump": _jump(night, table, ratio),
        "chosen": len(chosen) + len(answers) if isinstance(answers, Sequence) else None,
        "rank_faults": _rank_faults(chosen),
        "progressive_gap": None if ratio is None else abs(progressive - ratio),
        "stop": properties.get("stop"),
        "queries": properties.get("queries"),
        "entries": properties.get("entries"),
        "workload_queries": _sum(workload["queries"]),
        "workload_entries": _sum(workload["entries_scanned_in_filter"]),
        "is_on_curve": not chosen or {":".join(_structure(row)) for row in chosen} in _curve_sets(properties),
    }
    return {
        "advice": View([view]),
        "indexes": View(rows, "name"),
        "chosen": View(chosen, "name"),
        "others": View([row for row in rows if row["verdict"] != "chosen"], "name"),
    }


def _jump(night: Night, table: str, ratio: float | None) -> float | None:
    """Return by how much tonight's saving differs from the last night's, as shares; None without one."""
    earlier = earlier_snapshot(night, "recommendations", table)
    saving = mapping_of(earlier.parts([table])[table].properties.get("saving")) if earlier else {}
    before = number_of(saving.get("ratio"))
    return None if before is None or ratio is None else abs(ratio - before)


def _structure(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row["kind"]), _column(row)


def _column(row: Mapping[str, Any]) -> str:
    return str(row["column"])


def _sum(values: pa.ChunkedArray) -> int:
    return sum(value or 0 for value in values.to_pylist())


def _add_to_row(row: dict[str, Any], table: str, known: KnownColumns, rejected: set[tuple[str, str]]) -> None:
    row["is_of_known_family"] = row["kind"] in known.families
    row["is_of_table"] = row["table"] == table
    row["is_known"] = row["column"] in known.columns
    # A query may name a column that does not exist, such as a value in the wrong quotes.
    row["name"] = row["column"] if row["is_known"] else "an unknown column"
    row["is_indexed"] = _structure(row) in known.indexes
    row["is_rejected_too"] = _structure(row) in rejected


def _rank_faults(chosen: Sequence[Mapping[str, Any]]) -> int:
    """Return how many of the ranks 1, 2, … are missing, and how many surplus ranks there are."""
    return len({row["rank"] for row in chosen} ^ set(range(1, len(chosen) + 1)))


def _curve_sets(properties: Mapping[str, Any]) -> list[set[str]]:
    curve = properties.get("curve")
    points = curve if isinstance(curve, Sequence) else ()
    return [set(map(str, mapping_of(point).get("structures") or ())) for point in points]


def _expectations(settings: Settings) -> Sequence[Expectation]:
    saving = "predicted saving of {table}"
    return (
        *(present("advice", name, f"{saving}: {name}") for name in ("low", "ratio", "high")),
        between("advice", "ratio", f"{saving}: share of the entries scanned", -1, 1 + _TOLERANCE),
        warn_only(between("advice", "jump", f"{saving}: its change since the last night", 0, _MOST_JUMP)),
        at_most(
            "advice", "low_limit", "ratio", f"{saving}: low end, and the saving", "no more than the saving"
        ),
        at_most(
            "advice", "ratio", "high_limit", f"{saving}: share, and its high end", "no more than the high end"
        ),
        between(
            "advice",
            "progressive_gap",
            f"{saving}: less the savings of the chosen, one after the other",
            0,
            _TOLERANCE,
        ),
        equal(
            "advice",
            "queries",
            "workload_queries",
            "queries of {table}: advised on, and in the workload",
            "equal",
        ),
        equal(
            "advice",
            "entries",
            "workload_entries",
            "entries of {table}: advised on, and in the workload",
            "equal",
        ),
        in_set("advice", "stop", "advice on {table}: why it ends", [stop.value for stop in Stop]),
        present("advice", "stop", "advice on {table}: whether it says why it ends"),
        between("advice", "chosen", "chosen indexes of {table}: number", 0, settings.advice.max_indexes),
        none("advice", "rank_faults", "ranks of chosen indexes of {table}: gaps and strangers"),
        in_set(
            "advice", "is_on_curve", "chosen indexes of {table}: whether the curve over K has them", [True]
        ),
        in_set("indexes", "is_of_table", "indexes of {table}: rows of this table", [True]),
        in_set("indexes", "verdict", "indexes of {table}: verdict", _VERDICTS),
        present("indexes", "verdict", "indexes of {table}: missing verdict"),
        in_set("indexes", "is_of_known_family", "indexes of {table}: of a known family", [True]),
        present("indexes", "column", "indexes of {table}: missing column"),
        distinct("indexes", ["verdict", "kind", "column"], "indexes of {table}: given twice"),
        in_set("chosen", "is_known", "chosen indexes of {table}: on columns of the table", [True]),
        in_set("chosen", "is_indexed", "chosen indexes of {table}: in force already", [False]),
        in_set("chosen", "is_rejected_too", "chosen indexes of {table}: refused or dropped as well", [False]),
        *(
            item
            for name in ("individual_saving_ratio", "progressive_saving_ratio")
            for item in (
                present("chosen", name, f"{name} of chosen indexes of {{table}}: missing values"),
                between("chosen", name, f"{name} of chosen indexes of {{table}}", None, 1 + _TOLERANCE),
            )
        ),
        present("others", "reason", "refusals and drops of {table}: missing reason"),
        in_set(
            "others",
            "reason",
            "refusals and drops of {table}: reason",
            _REASONS,
            expected="a reason that is known",
        ),
    )


RECOMMENDATIONS_GATE = Gate(_views, _expectations)
