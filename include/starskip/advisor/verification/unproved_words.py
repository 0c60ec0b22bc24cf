"""Sentences on the queries that were to be answered both ways and were not asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.verification.agreement import Agreement
from starskip.number_text import count, share

Rows = Sequence[Mapping[str, Any]]
"""Rows of verdicts of one table; the shapes that save most come first."""


def is_asked(row: Mapping[str, Any]) -> bool:
    """Return whether the query of a row of verdicts was asked."""
    return bool(row["verdict"] != Agreement.NOT_PROVED.value)


def unproved_warning(rows: Rows) -> str | None:
    """Return how many queries were not proved, and why the first was not; None if all were asked."""
    unasked = [row for row in rows if not is_asked(row)]
    if not unasked:
        return None
    return f"{count(len(unasked))} of {count(len(rows))} queries were not proved: {unasked[0]['detail']}"


def unproved_sentences(rows: Rows, work: Mapping[str, float]) -> str | None:
    """Return how much was asked both ways, and why no more was; None if all queries were asked.

    ``work``: of all queries of a shape, such as the bytes that they read, by the shape's id.
    """
    asked = {row["shape_id"] for row in rows if is_asked(row)}
    unasked = [row for row in rows if not is_asked(row)]
    if not unasked:
        return None
    shapes = dict.fromkeys(row["shape_id"] for row in rows)
    all_work = sum(work.get(shape, 0.0) for shape in shapes)
    queries = f"{count(len(rows) - len(unasked))} of {count(len(rows))} queries were asked both ways"
    of_shapes = f"{count(len(asked))} of {count(len(shapes))} query shapes"
    if asked and all_work:
        ratio = sum(work.get(shape, 0.0) for shape in asked) / all_work
        of_shapes += f", with {share(ratio)} of the work of all of these"
    return f"{queries}: of {of_shapes}. The others were not proved: {unasked[0]['detail']}."
