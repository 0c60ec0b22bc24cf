"""Have Great Expectations (1.24) judge views of an artefact.

One ephemeral context a process, without files, Data Docs, progress bars and usage statistics.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from starskip.errors import printable
from starskip.run.expectations import Expectation, View, value_text
from starskip.run.gate_verdicts import GateCheck

_SHOWN_ROWS = 5
_NAME_CHARACTERS = 60


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
