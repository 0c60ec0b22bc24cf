"""What a gate asks of a bounded view of an artefact, and Great Expectations (1.24) to answer it.

One ephemeral context a process, without files, Data Docs, progress bars and usage statistics.
``ExpectColumnQuantileValuesToBeBetween`` is avoided: it answers with NumPy's bool.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from starskip.errors import printable
from starskip.run.gate_verdicts import GateCheck

_SHOWN_ROWS = 5
_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class View:
    """Rows that a gate looks at; ``name`` is the column that tells them apart, empty for a view of one row.

    What it holds may be printed: counts and names of tables and columns, never text of queries.
    """

    rows: Sequence[Mapping[str, Any]]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One question to one view; ``kind`` and ``arguments`` are those of Great Expectations.

    ``check`` and ``expected`` are for people, ``{table}`` in them stands for the table. What a note
    finds is told and stops nothing.
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
    """Expect a value everywhere; what is no number (NaN) is none either."""
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


def judge(
    table: str, views: Mapping[str, View], expectations: Sequence[Expectation]
) -> tuple[GateCheck, ...]:
    """Return one check an expectation, in their order."""
    checks: dict[int, GateCheck] = {}
    for name in dict.fromkeys(expectation.view for expectation in expectations):
        asked = {place: e for place, e in enumerate(expectations) if e.view == name}
        for place, result in _validated(views[name], asked).items():
            checks[place] = _check(table, views[name], asked[place], result)
    return tuple(checks[place] for place in range(len(expectations)))


def value_text(value: object) -> str:
    """Return a value of a view as people read it, on one short line."""
    if value is None or value != value:  # NaN is what a data frame makes of nothing
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value, _NAME_CHARACTERS) or "an empty text"
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else "a value"
    )


def _validated(view: View, asked: Mapping[int, Expectation]) -> dict[int, Any]:
    batches = _batches()
    import great_expectations.expectations as kinds
    import pandas as pd
    from great_expectations import ExpectationSuite

    suite = ExpectationSuite(
        name="gate",
        # A suite answers in an order of its own.
        expectations=[
            getattr(kinds, e.kind)(**e.arguments, meta={"place": place}) for place, e in asked.items()
        ],
    )
    names = dict.fromkeys(name for e in asked.values() for name in _columns(e))
    # As objects, counts stay whole numbers beside missing ones and above 2**53.
    frame = pd.DataFrame({name: [row.get(name) for row in view.rows] for name in names}, dtype=object)
    results = batches.get_batch(batch_parameters={"dataframe": frame}).validate(suite).results
    return {result.expectation_config.meta["place"]: result for result in results}


@cache
def _batches() -> Any:
    # Each import would log 211 lines; only the logger itself can be told (no setting of Airflow's does).
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("views").add_dataframe_asset("view").add_batch_definition("whole")


def _columns(expectation: Expectation) -> list[str]:
    single = [
        expectation.arguments[key]
        for key in ("column", "column_B", "column_A")
        if key in expectation.arguments
    ]
    return single + list(expectation.arguments.get("column_list", ()))


def _check(table: str, view: View, expectation: Expectation, result: Any) -> GateCheck:
    name = printable(table, _NAME_CHARACTERS)
    return GateCheck(
        check=expectation.check.replace("{table}", name),
        success=bool(result.success) or expectation.is_note,
        observed=_observed(view, expectation, result),
        expected=expectation.expected.replace("{table}", name),
    )


def _observed(view: View, expectation: Expectation, result: Any) -> str:
    # Of duplicates the names are enough.
    columns = _columns(expectation) if "column_list" not in expectation.arguments else []
    if not view.name:
        return " and ".join(value_text(row.get(column)) for row in view.rows for column in columns)
    if not result.result:
        return "values that cannot be compared"
    failed = result.result["unexpected_count"]
    if not failed:
        return f"all {len(view.rows):,} as expected"
    shown = [
        _row_text(view.rows[position], view.name, columns)
        for position in result.result["partial_unexpected_index_list"][:_SHOWN_ROWS]
    ]
    rest = ["…"] if failed > len(shown) else []
    return f"{failed:,} of {len(view.rows):,} not: " + ", ".join(shown + rest)


def _row_text(row: Mapping[str, Any], name: str, columns: Sequence[str]) -> str:
    values = " and ".join(value_text(row.get(column)) for column in columns if column != name)
    return f"{value_text(row.get(name))} {values}".strip()
