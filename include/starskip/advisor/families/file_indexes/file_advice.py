"""Guards, notes, limits and publication of advice on indexes of files: skipping and secondary ones alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from starskip.advisor.families.family import is_listed
from starskip.advisor.families.file_indexes.index_choice import FileIndexLimits
from starskip.advisor.families.index import Index
from starskip.advisor.families.measured import Measured
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.advisor.run.table_by_table import failure_words, is_of_one_table, is_ours
from starskip.errors import StarskipError, StorageOutage, printable
from starskip.lake.lake_table import LakeTable
from starskip.storage.manifest import Part

Rows = Sequence[Mapping[str, Any]]


def measured_or_note(
    night: Night,
    table: str,
    family: str,
    measure: Callable[[LakeTable], Measured | str],
    advice_of: Callable[[str], Any],
    warnings: Collection[str] = (),
) -> Measured:
    """Measure a table of the lake; a failure, or why there is nothing to measure, is the note of its advice.

    ``measure`` may return a note. ``advice_of``: returns advice that is a note alone. ``warnings`` accompany
    any advice; ``measure`` may add some.
    """

    def failed(error: Exception) -> tuple[Any, Sequence[str]]:
        if not (is_ours(error) or is_of_one_table(error)):
            raise error
        reason = failure_words(error)
        problem = printable(f"table {table}: no {family} indexes are advised: {reason}")
        return advice_of(reason), (*warnings, problem)

    why_not = _why_not(night, table, family)
    try:
        measured = why_not or measure(night.lake_tables[table])
    except Exception as error:
        outcome = failed(error)
        return Measured(None, lambda *_: outcome)
    if isinstance(measured, str):
        outcome = advice_of(measured), tuple(warnings)
        return Measured(None, lambda *_: outcome)
    advise_found = measured.advise

    def advise(chosen: Collection[Index], gap_ratio: float) -> tuple[Any, Sequence[str]]:
        try:
            advice, problems = advise_found(chosen, gap_ratio)
        except Exception as error:
            return failed(error)
        return advice, (*warnings, *problems)

    return replace(measured, advise=advise)


def _why_not(night: Night, table: str, family: str) -> str | None:
    if table not in night.lake_tables:
        return "no lake table is configured"
    if not is_listed(family, night.settings.advice.index_kinds):
        return f"{family} indexes are not among index_kinds"
    return None if night.event_log_paths else "no Spark event logs are configured (sources.spark_event_logs)"


def choice_limits(night: Night, table_bytes: float, size_ratio: float) -> FileIndexLimits:
    """Return the limits of the choice; ``size_ratio``: the share of a table's bytes that indexes may take."""
    advice = night.settings.advice
    budget = int(table_bytes * size_ratio)
    if advice.index_budget_bytes is not None:
        budget = min(budget, advice.index_budget_bytes)
    switch_gain_ratio = min(advice.switch_gain_ratio, advice.min_gain_ratio)
    return FileIndexLimits(budget, advice.min_gain_ratio, switch_gain_ratio)


def publish_rows(
    night: Night, artefact: str, schema: pa.Schema, advice: Mapping[str, tuple[Rows, Mapping[str, Any]]]
) -> None:
    """Publish the rows and properties of each table."""
    staged = night.store.staged_write(artefact, night.date_text)
    parts = {
        table: Part(staged.write(table, pa.Table.from_pylist(list(rows), schema=schema)), dict(properties))
        for table, (rows, properties) in advice.items()
    }
    night.publish(artefact, parts)


def last_choice(night: Night, table: str, artefact: str) -> list[str]:
    """Return the indexes that the newest advice before ``night``, an ``artefact``, chose; best first."""
    for age in range(1, ADVICE_NIGHTS):
        day = (night.run_date - timedelta(days=age)).isoformat()
        try:
            snapshot = night.store.snapshot(artefact, day)
            part = snapshot.parts([table]).get(table) if snapshot else None
            if snapshot is None or part is None or part.properties.get("note") is not None:
                continue
            rows = snapshot.read_table([table], ["verdict", "rank", "index"]).to_pylist()
        except StorageOutage:
            raise
        except StarskipError:
            continue  # damaged since: an older one, or none, does as well
        chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
        return [row["index"] for row in chosen]
    return []
