"""Stage select_indexes: ``votes`` and ``workload`` to ``recommendations``.

Source: Automated Inverted Index Recommendation, II.3 C.

Families of indexes of files also publish advice of their own, from ``lake_queries``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

import pyarrow as pa

from starskip.advisor.cost.index_sizes import sizes_of
from starskip.advisor.cost.read_overviews import read_overviews
from starskip.advisor.cost.sampled_segments import published_files
from starskip.advisor.families.answer import RowSource
from starskip.advisor.families.config_limits import config_notes
from starskip.advisor.families.families import FamilyChoice, families_of_night
from starskip.advisor.families.family_faults import NOT_USED, fault_warnings, without_faulty
from starskip.advisor.families.index import Index
from starskip.advisor.families.measured import Measured, skipped_by_any
from starskip.advisor.latency.shape_times import latency_document
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import interval_factors, newest_decisions, refused_again
from starskip.advisor.run.artefact_rows import night_properties, published
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import (
    failed_parts,
    failure_warnings,
    failure_words,
    is_of_one_table,
    table_by_table,
)
from starskip.advisor.selection.advise_table import advice_and_votes
from starskip.advisor.selection.advised_edits import write_out
from starskip.advisor.selection.past_nights import past_nights
from starskip.advisor.selection.stored_question import ARTEFACT as QUESTIONS
from starskip.advisor.selection.stored_question import question_part
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.vote_list import IndexSet
from starskip.advisor.workload.shape_workload import workload_shapes
from starskip.errors import FamilyFault
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.night.note_applied import note_applied
from starskip.pinot.table_config import TableConfig
from starskip.storage.manifest import Part
from starskip.storage.schemas import RECOMMENDATIONS
from starskip.storage.snapshot import Snapshot
from starskip.tables.table_overview import TableOverview

_MOST_REFUSED = 200
"""Refused answers of a table that its part keeps."""


def select_indexes(engine: Engine, night: Night) -> StageResult:
    """Publish ``recommendations``, and the advice on indexes of files, of the night's tables.

    Each table is a task of the engine; if its programme fails, the other tables are not affected, and the
    table's part says why.
    """
    tables = usable_tables(night, "votes", "select_indexes")
    factors = interval_factors(ledger_entries(night.store))
    found = table_by_table(tables, partial(_overviews, engine, night))
    overviews = {table: each for result in found.results for table, each in result.items()}
    advise = partial(_advise_tables, night, factors)
    items = [(table, *overviews[table]) for table in found.left_of(tables)]
    # What measures the files of a lake table drives the engine itself.
    here = [item for item in items if item[0] in night.lake_tables]
    tasks = EngineTasks(engine, night.store.staged_write("recommendations", night.date_text))
    outcomes = tasks.run_parts(
        "advice", [item for item in items if item not in here], partial(advise, LocalEngine())
    )
    outcomes += advise(engine, here)
    advised = {each.table: each for each in outcomes if isinstance(each, _AdvisedTable)}
    failures = found.failures | {each.table: each.reason for each in outcomes if isinstance(each, _Failed)}
    night.publish(QUESTIONS, {table: each.question for table, each in advised.items()})
    parts = {table: each.part for table, each in advised.items()}
    night.publish("recommendations", {**parts, **failed_parts(failures)})
    in_force = {table: each.in_force for table, each in advised.items()}
    # The ledger is of what stands in Pinot; an experiment is beside it.
    seen = () if night.is_experiment else note_applied(night, in_force)
    families = families_of_night(night)
    warnings: list[str] = []
    counts = {
        "tables": len(tables),
        "chosen_indexes": sum(each.chosen for each in advised.values()),
        **({"seen_in_configs": len(seen)} if seen else {}),
    }
    for family in families.known:
        if family.answer is not None:
            counts[f"chosen_{family.name}s"] = sum(each.answers[family.name] for each in advised.values())
        if family.measured is not None:
            told = {table: each.measured for table, each in advised.items()}
            of_family = {table: each[family.name] for table, each in told.items() if family.name in each}
            if advised and not of_family:
                # It failed on each table, which is told.
                continue
            try:
                counts[f"chosen_{family.name}_indexes"] = family.measured().publish(night, of_family)
            except FamilyFault as fault:
                warnings += fault_warnings({family.name: str(fault)})
    warnings += [warning for each in advised.values() for warning in each.warnings]
    failed = failure_warnings("select_indexes", failures)
    return StageResult(counts, (*warnings, *failed))


_Overview = tuple[TableOverview | None, Mapping[str, str]]
_Item = tuple[str, TableOverview | None, Mapping[str, str]]
"""A table, its overview, and the families that failed in it, with the reason."""


def _overviews(engine: Engine, night: Night, tables: Sequence[str]) -> dict[str, _Overview]:
    found, faulty = without_faulty(
        {}, lambda names: read_overviews(engine, night.without_families(names), tables)
    )
    return {table: (found.get(table), faulty) for table in tables}


@dataclass(frozen=True, slots=True)
class _AdvisedTable:
    """The advice on one table and its question, written aside.

    ``chosen``: the number of indexes on columns, ``answers``: of answers by family. ``measured``: the advice
    on indexes of files, by family.
    """

    table: str
    part: Part
    question: Part
    in_force: IndexSet
    chosen: int
    answers: Counter[str]
    measured: Mapping[str, Any]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Failed:
    """A table whose programme failed, and why."""

    table: str
    reason: str


def _advise_tables(
    night: Night, interval_factors: tuple[float, float], engine: Engine, items: Iterable[_Item]
) -> list[_AdvisedTable | _Failed]:
    """Advise on one table after the other."""
    configs = cache(night.table_configs)
    found: list[_AdvisedTable | _Failed] = []
    for table, overview, faulty in items:
        of_table = configs().get(table, ())
        advised = partial(_advised, engine, night, table, overview, of_table, interval_factors)
        try:
            found.append(
                _soundly_advised(night.store.snapshot("votes", night.date_text), table, faulty, advised)
            )
        except Exception as error:
            if not is_of_one_table(error):
                raise
            found.append(_Failed(table, failure_words(error)))
    return found


def _soundly_advised(
    scored: Snapshot | None,
    table: str,
    faulty: Mapping[str, str],
    advised: Callable[[frozenset[str]], _AdvisedTable],
) -> _AdvisedTable:
    """Return the advice without families that fail in it, which its part names."""
    part = scored.parts([table]).get(table) if scored else None
    before = part.properties.get(NOT_USED, {}) if part else {}
    of_table, faults = without_faulty({**before, **faulty}, advised)
    if not faults:
        return of_table
    new = {name: words for name, words in faults.items() if name not in before}
    return replace(
        of_table,
        part=Part(of_table.part.files, {**of_table.part.properties, NOT_USED: faults}),
        warnings=(*fault_warnings(new, [table]), *of_table.warnings),
    )


def _advised(
    engine: Engine,
    night: Night,
    table: str,
    overview: TableOverview | None,
    configs: Sequence[TableConfig],
    interval_factors: tuple[float, float],
    left_out: frozenset[str],
) -> _AdvisedTable:
    night = night.without_families(left_out)
    staged = night.store.staged_write("recommendations", night.date_text)
    past = past_nights(night, table)
    sizes = sizes_of(_rows(night, "index_sizes", table))
    facts = night.store.snapshot("table_facts", night.date_text)
    families = families_of_night(night)
    measured: dict[str, Measured] = {}
    for family in families.known:
        if family.measured is not None:
            skipped = skipped_by_any(list(measured.values()))
            measured[family.name] = family.measured().measure(engine, night, table, skipped)
    advice, tonight = advice_and_votes(
        TableQuestion(
            table,
            list(workload_shapes(_rows(night, "workload", table))),
            _rows(night, "votes", table),
            overview,
            night.settings,
            families,
            past=past,
            size_bytes=sizes,
            configs=configs,
            rows=RowSource(
                EngineTasks(engine).run_tasks,
                partial(published_files, facts, table) if night.segments_root and facts else None,
                night.lake_tables.get(table),
                # Not the folder of published files: this one is emptied.
                night.store.staged_write("recommendations", night.date_text),
                night.store,
            ),
            leaves=night_properties(night, "queries", table).get("log", {}).get("leaves", 0),
            skips=[each.skips for each in measured.values() if each.skips is not None],
            decided_against=_decided_against(night, table),
        )
    )
    asked = question_part(
        night.store.staged_write(QUESTIONS, night.date_text), tonight, advice, interval_factors
    )
    advice = advice.widened(*interval_factors)
    write_out(advice, families, configs)
    properties = {
        **_family_properties(advice, families),
        **_properties(advice),
        "settings": night.settings.differences(),
        "table_bytes": overview.stored_bytes if overview else None,
        "table_rows": overview.rows if overview else None,
    }
    part = Part(staged.write(table, _recommendation_rows(advice, sizes)), properties)
    answers = advice.answers
    told = {name: each.advise(answers.file_indexes, answers.gap_ratio) for name, each in measured.items()}
    warnings = [warning for _, of_family in told.values() for warning in of_family]
    if overview is not None:
        warnings += config_notes(overview, configs, night.settings.scoring.pinot_version)
    of_files = {name: of_family for name, (of_family, _) in told.items()}
    return _AdvisedTable(
        table,
        part,
        asked,
        advice.nights.in_force,
        len(advice.recommendation.chosen),
        Counter(answer.index.family for answer in answers.answers),
        of_files,
        (*past.warnings, *warnings),
    )


def _decided_against(night: Night, table: str) -> Callable[[str, float], str]:
    """Return why an index must not be proposed again yet, by the ledger of the night's store."""
    terms = night.settings.deployment
    return partial(
        refused_again,
        refusals=newest_decisions(ledger_entries(night.store, table)),
        today=night.run_date,
        cool_down_days=terms.cool_down_days,
        gain_ratio=terms.propose_again_gain_ratio,
    )


def _rows(night: Night, artefact: str, table: str) -> pa.Table:
    return published(night, artefact).read_table([table])


def _recommendation_rows(advice: TableAdvice, sizes: Mapping[Index, int]) -> pa.Table:
    ranked = [(each, rank) for rank, each in enumerate(advice.recommendation.chosen, start=1)]
    others = [(each, None) for each in (*advice.refused, *advice.drops)]
    rows = [
        {
            **each.to_row(rank),
            "table": advice.table,
            "kind": each.index.family,
            "column": each.index.column,
            "saving_ms": None if rank is None else advice.index_times.columns.get(each.index),
            "shapes_helped": each.shapes_helped,
            "size_bytes": sizes.get(each.index),
        }
        for each, rank in (*ranked, *others)
    ]
    return pa.Table.from_pylist(rows, schema=RECOMMENDATIONS)


def _properties(advice: TableAdvice) -> Mapping[str, Any]:
    recommendation, log = advice.recommendation, advice.log
    return {
        "saving": asdict(recommendation.saving),
        "combined": advice.combined.to_document(),
        "stop": recommendation.stop.value,
        "curve": [
            {
                "k": p.k,
                "structures": [str(s) for s in p.indexes],
                "answers": [{"family": a.index.family, "columns": list(a.columns)} for a in p.answers],
                "saving": asdict(p.saving),
            }
            for p in recommendation.curve
        ],
        "typical_entries": asdict(advice.typical) if advice.typical else None,
        "sort_order": _order_properties(advice),
        "in_force": sorted(map(str, advice.nights.in_force)),
        "sorted_columns": sorted(advice.nights.sorted_columns),
        "asked": sorted(map(str, advice.nights.asked)),
        "drops_withheld": advice.drops_withheld,
        **{name: getattr(log, name) for name in ("queries", "failed", "unparsed", "shapes", "entries")},
        "nights": advice.nights.count,
        "earlier_nights": [[day.isoformat(), weight] for day, weight in advice.nights.earlier],
        "fresh": advice.fresh.to_document() if advice.fresh else None,
        **{name: getattr(log, name) for name in ("unlogged_queries", "unlogged_entries", "leaves")},
        "unlogged_texts": log.unlogged_texts.to_json(),
        "answers": [
            {**each.to_document(), "index": answer.index.column, "shapes": list(each.shapes)}
            for each, answer in zip(advice.chosen_answers(), advice.answers.answers, strict=True)
        ],
        "refused_answers": [each.to_document() for each in advice.refused_answers()][:_MOST_REFUSED],
        "gap_ratio": advice.gap_ratio,
        "unit": advice.unit,
        "latency": latency_document(advice.times, advice.mistrust) if advice.times else None,
        "time": advice.time.to_document() if advice.time else None,
        "interval_factor": advice.interval_factor,
        "notes": list(advice.notes),
        "harmed": [each.to_document() for each in advice.harmed],
    }


def _family_properties(advice: TableAdvice, families: FamilyChoice) -> Mapping[str, Any]:
    """Return the properties that families keep of their own answers."""
    found: dict[str, Any] = {}
    for family in families.known:
        if family.properties is not None:
            found = {**family.properties(advice.answers, advice.offers.get(family.name)), **found}
    return found


def _order_properties(advice: TableAdvice) -> Mapping[str, Any] | None:
    order = advice.sort_order
    if order is None:
        return None
    chosen = order.chosen[0].index.column if order.chosen else None
    return {"column": chosen, "saving": asdict(order.saving)}


def chosen_columns(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the chosen columns of RECOMMENDATIONS rows, best first."""
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    return tuple(row["column"] for row in chosen)
