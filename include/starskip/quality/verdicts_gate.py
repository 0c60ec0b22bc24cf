"""The gate behind verify_indexes: what is built answers as the table does, or within what it states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.quality.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    in_set,
    present,
    warn_only,
)
from starskip.quality.gate import Gate
from starskip.quality.stream_rows import published
from starskip.run.night import Night
from starskip.settings import Settings
from starskip.verification.prove_query import Verdict

_AGREED = (Verdict.EQUAL.value, Verdict.WITHIN_BOUND.value, Verdict.NOT_COMPARABLE.value)
_SAME_FILES = (Verdict.EQUAL.value, Verdict.DIFFERENT.value)
"""Verdicts of queries that ran both ways."""
_COSTS = ("tree_rows_read", "scan_rows_read", "tree_ms", "scan_ms")


def _views(night: Night, table: str) -> Mapping[str, View]:
    rows = published(night, "verdicts").read_table([table]).to_pylist()
    for row in rows:
        row["is_of_table"] = row["table"] == table
        row["name"] = f"{row['shape_id']} query {row['instance']}"
    answered = [row for row in rows if row["verdict"] in _AGREED]
    return {
        "queries": View(rows, "name"),
        "answered": View(answered, "name"),
        **_skipping_views(night, table),
    }


def _skipping_views(night: Night, table: str) -> Mapping[str, View]:
    snapshot = night.store.snapshot("skipping_verdicts", night.date_text)
    rows = snapshot.read_table([table]).to_pylist() if snapshot and table in snapshot.tables else []
    for row in rows:
        row["is_of_table"] = row["table"] == table
        row["name"] = f"{row['shape_id']} query {row['instance']}"
    asked = [row for row in rows if row["verdict"] in _SAME_FILES]
    return {"skipped": View(rows, "name"), "asked": View(asked, "name")}


def _expectations(_: Settings) -> Sequence[Expectation]:
    queries = "queries of {table} from a star-tree and by a scan"
    skipped = "queries of {table} with skipping and without"
    return (
        in_set("skipped", "is_of_table", f"{skipped}: rows of this table", [True]),
        distinct("skipped", ["shape_id", "instance"], f"{skipped}: told twice"),
        present("skipped", "verdict", f"{skipped}: missing verdict"),
        in_set("skipped", "verdict", f"{skipped}: answers", _AGREED),
        at_most(
            "asked",
            "skipping_bytes_read",
            "plain_bytes_read",
            f"{skipped}: bytes read",
            "no more than without",
        ),
        in_set("queries", "is_of_table", f"{queries}: rows of this table", [True]),
        distinct("queries", ["shape_id", "instance"], f"{queries}: told twice"),
        present("queries", "verdict", f"{queries}: missing verdict"),
        in_set("queries", "verdict", f"{queries}: answers", _AGREED),
        present("answered", "tree", f"{queries}: missing tree"),
        *(
            item
            for name in _COSTS
            for item in (
                present("answered", name, f"{queries}: missing {name}"),
                between("answered", name, f"{queries}: {name}", 0),
            )
        ),
        warn_only(
            at_most(
                "answered",
                "tree_rows_read",
                "scan_rows_read",
                f"{queries}: rows read",
                "no more than by the scan",
            )
        ),
    )


VERDICTS_GATE = Gate(_views, _expectations)
