"""Expectations of a gate on bounded views of an artefact, as values; ``night/quality/`` judges them.

The kinds are those of Great Expectations (1.24), which nothing here imports: an index family states the
expectations of its own artefacts, too. ``ExpectColumnQuantileValuesToBeBetween`` is avoided: it returns
NumPy's bool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starskip.errors import printable

_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class View:
    """Rows that a gate judges; ``name``: the column that distinguishes them, empty for a view of one row.

    Its values may be printed: counts and names of tables and columns, never text of queries.
    """

    rows: Sequence[Mapping[str, Any]]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation of one view; ``kind`` and ``arguments`` as in Great Expectations.

    ``check`` and ``expected`` are for people, ``{table}`` in them stands for the table. A failed note is
    reported and stops nothing.
    """

    view: str
    kind: str
    check: str
    expected: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_note: bool = False


def between(
    view: str,
    column: str,
    check: str,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    expected: str = "",
) -> Expectation:
    """Expect each value, where there is one, to be from ``minimum`` to ``maximum``."""
    ends = [f"at least {value_text(minimum)}"] if minimum is not None else []
    ends += [f"at most {value_text(maximum)}"] if maximum is not None else []
    arguments = {"column": column, "min_value": minimum, "max_value": maximum}
    text = expected or (f"exactly {value_text(minimum)}" if minimum == maximum else " and ".join(ends))
    return Expectation(view, "ExpectColumnValuesToBeBetween", check, text, arguments)


def none(view: str, column: str, check: str) -> Expectation:
    """Expect a count of faults to be 0."""
    return between(view, column, check, 0, 0, expected="none")


def present(view: str, column: str, check: str) -> Expectation:
    """Expect a value everywhere; NaN counts as none."""
    return Expectation(view, "ExpectColumnValuesToNotBeNull", check, "a value", {"column": column})


def in_set(view: str, column: str, check: str, values: Sequence[Any], *, expected: str = "") -> Expectation:
    """Expect each value, where there is one, to be one of ``values``."""
    texts = [value_text(value) for value in values]
    text = expected or (texts[0] if len(texts) == 1 else "one of " + ", ".join(texts))
    arguments = {"column": column, "value_set": list(values)}
    return Expectation(view, "ExpectColumnValuesToBeInSet", check, text, arguments)


def distinct(view: str, columns: Sequence[str], check: str) -> Expectation:
    """Expect no two rows with the same values in ``columns``."""
    if len(columns) == 1:
        return Expectation(
            view, "ExpectColumnValuesToBeUnique", check, "no duplicates", {"column": columns[0]}
        )
    arguments = {"column_list": list(columns)}
    return Expectation(view, "ExpectCompoundColumnsToBeUnique", check, "no duplicates", arguments)


def equal(view: str, column: str, other: str, check: str, expected: str) -> Expectation:
    """Expect both columns to be equal, row by row."""
    arguments = {"column_A": other, "column_B": column}
    return Expectation(view, "ExpectColumnPairValuesToBeEqual", check, expected, arguments)


def at_most(view: str, column: str, other: str, check: str, expected: str) -> Expectation:
    """Expect ``column`` to be at most ``other``, row by row, where both have a value."""
    arguments = {
        "column_A": other,
        "column_B": column,
        "or_equal": True,
        "ignore_row_if": "either_value_is_missing",
    }
    return Expectation(view, "ExpectColumnPairValuesAToBeGreaterThanB", check, expected, arguments)


def warn_only(expectation: Expectation) -> Expectation:
    """Return the expectation as a note, which stops no table."""
    return replace(expectation, expected=f"{expectation.expected}, or otherwise as a note", is_note=True)


def value_text(value: object) -> str:
    """Return a value of a view as people read it, on one short line."""
    if value is None or value != value:  # a data frame holds NaN for a missing value
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value, _NAME_CHARACTERS) or "an empty text"
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else "a value"
    )
