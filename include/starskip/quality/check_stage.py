"""The gate behind a stage, on all tables of a night: its verdicts are published and returned.

Great Expectations (1.24) judges the views: one ephemeral context a process, without files, Data Docs,
progress bars and usage statistics.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from starskip.errors import StorageError, StorageOutage, printable
from starskip.indexes.families import families_of_night
from starskip.indexes.skipping.registry import load_modules
from starskip.run.expectations import Expectation, View, in_set, value_text
from starskip.run.gate import Gate
from starskip.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts, usable_tables
from starskip.run.lake_only import LAKE_ONLY
from starskip.run.night import Night
from starskip.run.stages import Stage, stage_named
from starskip.run.stream_rows import published
from starskip.run.table_by_table import FAILED

_SHOWN_ROWS = 5
_NAME_CHARACTERS = 60


def check_stage(night: Night, stage: str) -> tuple[GateVerdict, ...]:
    """Judge what ``stage`` has published, table by table; publish the verdicts and return them.

    A table that fails is flagged, and nothing is raised for it; later stages leave it out. Tables
    that an earlier gate has stopped are not judged. Raises SourceError where the stage has
    not run, StorageError where the verdicts cannot be published, and ConfigError for a module of index types
    that cannot be imported.
    """
    load_modules(night.skipping_modules)
    of_register = stage_named(stage)
    gates = gates_behind(of_register, night)
    verdicts = tuple(
        GateVerdict(table, stage, _checks(night, of_register, gates, table))
        for table in _tables(night, of_register)
    )
    publish_verdicts(night, stage, verdicts)
    return verdicts


def gates_behind(stage: Stage, night: Night) -> Sequence[Gate]:
    """Return the gate of the stage, if it has one of its own, and those of families for that stage."""
    own = (stage.load_gate(),) if stage.gate else ()
    of_families = [family.gates() for family in families_of_night(night).known if family.gates is not None]
    return (*own, *(gates[stage.name] for gates in of_families if stage.name in gates))


def _tables(night: Night, stage: Stage) -> Sequence[str]:
    """Return the tables to judge, those included of which the stage has published nothing."""
    tables = set(usable_tables(night, stage.artefact, stage.name))
    if stage.name == "collect_segment_metadata":
        # A table without one segment that can be read has no facts.
        damaged = published(night, "damaged_segments")
        return sorted(tables | {table for table in damaged.tables if night.wants(table)})
    if stage.made_of:
        tables |= set(usable_tables(night, stage.made_of, stage.name))
    if night.tables is None:
        # Anyone can ask a cluster for a table of any name: only those with segments are worth a verdict.
        tables &= set(usable_tables(night, "table_facts", stage.name))
    return sorted(tables)


def _checks(night: Night, stage: Stage, gates: Sequence[Gate], table: str) -> tuple[GateCheck, ...]:
    artefact = stage.artefact
    part = published(night, artefact).parts().get(table)
    if part is None and stage.name != "collect_segment_metadata":
        return _part_check(stage.name, table, artefact, "not published")
    if part is not None and part.properties.get(FAILED):
        return _part_check(stage.name, table, artefact, str(part.properties[FAILED]))
    if part is not None and part.properties.get(LAKE_ONLY):
        # It has no segments, and no queries of brokers, that anything could be expected of.
        return _part_check(stage.name, table, artefact, "readable")
    try:
        views = [gate.views(night, table) for gate in gates]
    except StorageOutage:
        raise
    except StorageError as error:
        return _part_check(stage.name, table, artefact, str(error))
    checks = _part_check(stage.name, table, artefact, "readable")
    for gate, of_gate in zip(gates, views, strict=True):
        checks += judge(stage.name, table, of_gate, gate.expectations(night.settings))
    return checks


def _part_check(stage: str, table: str, artefact: str, state: str) -> tuple[GateCheck, ...]:
    expectation = in_set(
        "part", "state", f"{artefact} of {{table}}: state", ["readable"], expected="readable"
    )
    return judge(stage, table, {"part": View([{"state": state}])}, [expectation])


def judge(
    stage: str, table: str, views: Mapping[str, View], expectations: Sequence[Expectation]
) -> tuple[GateCheck, ...]:
    """Have Great Expectations judge the views; return one check an expectation, in their order."""
    checks: dict[int, GateCheck] = {}
    for name in dict.fromkeys(expectation.view for expectation in expectations):
        asked = {place: e for place, e in enumerate(expectations) if e.view == name}
        for place, result in _validated(views[name], asked).items():
            checks[place] = _check(stage, table, views[name], asked[place], result)
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
    # Each import would log 211 lines; only the logger itself takes a level (no setting of Airflow's does).
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


def _check(stage: str, table: str, view: View, expectation: Expectation, result: Any) -> GateCheck:
    name = printable(table, _NAME_CHARACTERS)
    return GateCheck(
        stage=stage,
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
