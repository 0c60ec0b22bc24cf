"""Expectations of the verdicts on indexes of files: the same rows with them as without, and no more bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.run.expectations import Expectation, View, at_most, distinct, in_set, present
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.advisor.verification.agreement import AGREED, Agreement
from starskip.settings import Settings

_RAN_BOTH_WAYS = (Agreement.EQUAL.value, Agreement.DIFFERENT.value)


def replays_gate(verdicts: str, words: str) -> Gate:
    """Return the gate of an artefact of verdicts; ``words``: as checks name the queries, with ``{table}``."""

    def views(night: Night, table: str) -> Mapping[str, View]:
        snapshot = night.store.snapshot(verdicts, night.date_text)
        rows = snapshot.read_table([table]).to_pylist() if snapshot and table in snapshot.tables else []
        for row in rows:
            row["is_of_table"] = row["table"] == table
            row["name"] = f"{row['shape_id']} query {row['instance']}"
        asked = [row for row in rows if row["verdict"] in _RAN_BOTH_WAYS]
        return {"skipped": View(rows, "name"), "asked": View(asked, "name")}

    def expectations(_: Settings) -> Sequence[Expectation]:
        return (
            in_set("skipped", "is_of_table", f"{words}: rows of this table", [True]),
            distinct("skipped", ["shape_id", "instance"], f"{words}: listed twice"),
            present("skipped", "verdict", f"{words}: missing verdict"),
            in_set("skipped", "verdict", f"{words}: answers", AGREED),
            at_most(
                "asked",
                "skipping_bytes_read",
                "plain_bytes_read",
                f"{words}: bytes read",
                "no more than without",
            ),
        )

    return Gate(views, expectations)
