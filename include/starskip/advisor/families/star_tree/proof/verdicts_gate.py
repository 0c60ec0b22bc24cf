"""Expectations of ``verdicts``: star-trees answer as the table does, or within the bounds that they state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    in_set,
    present,
    warn_only,
)
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.advisor.verification.agreement import ACCEPTED, AGREED
from starskip.settings import Settings

_COSTS = ("tree_rows_read", "scan_rows_read", "tree_ms", "scan_ms")


def _views(night: Night, table: str) -> Mapping[str, View]:
    rows = published(night, "verdicts").read_table([table]).to_pylist()
    for row in rows:
        row["is_of_table"] = row["table"] == table
        row["name"] = f"{row['shape_id']} query {row['instance']}"
    answered = [row for row in rows if row["verdict"] in AGREED]
    return {"queries": View(rows, "name"), "answered": View(answered, "name")}


def _expectations(_: Settings) -> Sequence[Expectation]:
    queries = "queries of {table} from a star-tree and by a scan"
    return (
        in_set("queries", "is_of_table", f"{queries}: rows of this table", [True]),
        distinct("queries", ["shape_id", "instance"], f"{queries}: listed twice"),
        present("queries", "verdict", f"{queries}: missing verdict"),
        in_set("queries", "verdict", f"{queries}: answers", ACCEPTED),
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


STAR_TREE_VERDICTS_GATE = Gate(_views, _expectations)
