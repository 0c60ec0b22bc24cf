"""Judge the gates' views of tables with Great Expectations (1.24); this is its only home.

One ephemeral context a process, without files, Data Docs, progress bars and usage statistics. An expectation
costs some milliseconds, however few rows it judges: an expectation that judges row by row takes the views of
all tables at once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from starskip.advisor.run.expectations import Expectation, View, value_text
from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.errors import printable
from starskip.extras import needing_extra

_SHOWN_ROWS = 5
_NAME_CHARACTERS = 60

_ROW_BY_ROW = frozenset(
    {
        "ExpectColumnValuesToBeBetween",
        "ExpectColumnValuesToNotBeNull",
        "ExpectColumnValuesToBeInSet",
        "ExpectColumnPairValuesToBeEqual",
        "ExpectColumnPairValuesAToBeGreaterThanB",
    }
)
"""Kinds that judge each row by itself."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """Outcome of an expectation on a view, and the rows that failed; None if values cannot be compared.

    ``value``: the observed value of an expectation of the whole view.
    """

    success: bool
    failed: Sequence[int] | None
    value: object = None


def judge(
    stage: str, views: Mapping[str, Mapping[str, View]], expectations: Sequence[Expectation]
) -> dict[str, tuple[GateCheck, ...]]:
    """Judge the ``views`` of each table, by their names; return one check for each expectation, in order."""
    found: dict[tuple[str, int], _Finding] = {}
    for name in dict.fromkeys(expectation.view for expectation in expectations):
        of_tables = {table: of_table[name] for table, of_table in views.items()}
        asked = {place: each for place, each in enumerate(expectations) if each.view == name}
        row_by_row = {place: each for place, each in asked.items() if _is_row_by_row(each)}
        together = _judged_together(of_tables, row_by_row) if len(views) > 1 else {}
        alone = {place: each for place, each in asked.items() if place not in together}
        for table, view in of_tables.items():
            for place, findings in together.items():
                found[table, place] = findings[table]
            for place, finding in _judged(view.rows, alone).items():
                found[table, place] = finding
    return {
        table: tuple(
            _check(stage, table, of_table[each.view], each, found[table, place])
            for place, each in enumerate(expectations)
        )
        for table, of_table in views.items()
    }


def _is_row_by_row(expectation: Expectation) -> bool:
    return expectation.kind in _ROW_BY_ROW and "mostly" not in expectation.arguments


def _judged_together(
    views: Mapping[str, View], asked: Mapping[int, Expectation]
) -> dict[int, dict[str, _Finding]]:
    """Return the findings of each table, without the expectations that some table's values do not allow."""
    rows = list(chain.from_iterable(view.rows for view in views.values()))
    places = [(table, row) for table, view in views.items() for row in range(len(view.rows))]
    findings: dict[int, dict[str, _Finding]] = {}
    for place, finding in _judged(rows, asked).items():
        if finding.failed is None:
            continue
        failed: dict[str, list[int]] = {table: [] for table in views}
        for table, row in map(places.__getitem__, finding.failed):
            failed[table].append(row)
        findings[place] = {table: _Finding(not positions, positions) for table, positions in failed.items()}
    return findings


def _judged(rows: Sequence[Mapping[str, Any]], asked: Mapping[int, Expectation]) -> dict[int, _Finding]:
    """Return the finding of each expectation in ``asked`` on ``rows``."""
    if not asked:
        return {}
    batches = _batches()
    with needing_extra("airflow"):
        import pandas as pd
        from great_expectations import ExpectationSuite

    suite = ExpectationSuite(
        name="gate",
        # A suite returns its results in an order of its own.
        expectations=[
            _kind(each.kind)(**each.arguments, meta={"place": place}) for place, each in asked.items()
        ],
    )
    names = dict.fromkeys(chain.from_iterable(map(_columns, asked.values())))
    # As objects, counts stay whole numbers beside missing values and above 2**53.
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in names}, dtype=object)
    batch = batches.get_batch(batch_parameters={"dataframe": frame})
    results = batch.validate(suite, result_format="COMPLETE").results
    return {result.expectation_config.meta["place"]: _finding(result) for result in results}


def _finding(result: Any) -> _Finding:
    success, found = bool(result.success), result.result
    if not found:
        return _Finding(success, None)
    return _Finding(success, found.get("unexpected_index_list") or [], found.get("observed_value"))


@cache
def _kind(name: str) -> Any:
    """Return a subclass of Great Expectations' class of this name, which builds its configuration once.

    Its base builds it anew each of the some hundred times that a validation asks for it, which takes longer
    than all else of the validation.
    """
    with needing_extra("airflow"):
        import great_expectations.expectations as kinds
        from pydantic.v1 import PrivateAttr

    kind = getattr(kinds, name)

    def configuration(self: Any) -> Any:
        if self._configuration is None:
            self._configuration = kind.configuration.fget(self)
        return self._configuration

    members = {
        "__module__": __name__,
        "_configuration": PrivateAttr(None),
        "configuration": property(configuration),
    }
    # Great Expectations registers it by its name, and warns of a second class of the same name.
    return type(kind)(f"Gate{name}", (kind,), members)


@cache
def _batches() -> Any:
    # Each import would log 211 lines; only the logger itself takes a level (no setting of Airflow's does).
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with needing_extra("airflow"):
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("views").add_dataframe_asset("view").add_batch_definition("whole")


def _columns(expectation: Expectation) -> list[str]:
    arguments = expectation.arguments
    single = [arguments[key] for key in ("column", "column_B", "column_A") if key in arguments]
    return single + list(arguments.get("column_list", ()))


def _check(stage: str, table: str, view: View, expectation: Expectation, finding: _Finding) -> GateCheck:
    name = printable(table, _NAME_CHARACTERS)
    return GateCheck(
        stage=stage,
        check=expectation.check.replace("{table}", name),
        success=finding.success or expectation.is_note,
        observed=_observed(view, expectation, finding),
        expected=expectation.expected.replace("{table}", name),
    )


def _observed(view: View, expectation: Expectation, finding: _Finding) -> str:
    # For duplicates the names are enough.
    columns = _columns(expectation) if "column_list" not in expectation.arguments else []
    if not view.name:
        return " and ".join(value_text(row.get(column)) for row in view.rows for column in columns)
    if finding.failed is None:
        return "values that cannot be compared"
    if finding.value is not None:
        return value_text(finding.value)
    if not finding.failed:
        return f"all {len(view.rows):,} as expected"
    shown = [_row_text(view.rows[row], view.name, columns) for row in finding.failed[:_SHOWN_ROWS]]
    rest = ["…"] if len(finding.failed) > len(shown) else []
    return f"{len(finding.failed):,} of {len(view.rows):,} not: " + ", ".join(shown + rest)


def _row_text(row: Mapping[str, Any], name: str, columns: Sequence[str]) -> str:
    values = " and ".join(value_text(row.get(column)) for column in columns if column != name)
    return f"{value_text(row.get(name))} {values}".strip()
