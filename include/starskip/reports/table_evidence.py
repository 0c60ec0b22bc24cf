"""Collect the artefacts of one table and night as the evidence of its report."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyarrow.compute as pc

from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.deployment.forecast import reload_seconds
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.families import configured_indexes, families_of_night
from starskip.advisor.families.family_faults import NOT_USED
from starskip.advisor.families.family_section import SectionSource
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.families.star_tree.chosen_trees import chosen_trees, held_trees
from starskip.advisor.families.star_tree.report.star_tree_evidence import StarTreeEvidence
from starskip.advisor.latency.latency_model import NoFit
from starskip.advisor.latency.latency_report import NO_FIT_SENTENCES
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import reload_rate
from starskip.advisor.run.artefact_rows import night_properties, published
from starskip.advisor.run.gate_verdicts import read_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.selection.table_advice import TypicalEntries
from starskip.advisor.workload.shape_workload import workload_shapes
from starskip.advisor.workload.unlogged_texts import UnloggedTexts
from starskip.errors import SourceError
from starskip.extras import installed_version
from starskip.night.experiments import run_note
from starskip.night.lake_only import lake_only_tables
from starskip.pinot.given_config import given_table_config
from starskip.pinot.segments.pulled_note import PULLED
from starskip.reports.advice_evidence import (
    advised_actions,
    chosen_answers,
    chosen_index,
    config_change,
    k_curve,
    reasoned_index,
    refused_answers,
    sort_order,
)
from starskip.reports.advice_values import Interval, TimeSavingEvidence
from starskip.reports.applied_of_table import applied_of_table
from starskip.reports.evidence import Evidence, Setting, Summary
from starskip.reports.family_sections import collected_sections
from starskip.reports.log_values import (
    MAX_REJECTED_EXAMPLES,
    DamagedSegment,
    DataQuality,
    LatencyBin,
    LatencyEvidence,
    Quantile,
    RejectedExample,
    TimesEvidence,
    thinned_bins,
    top_shapes,
)
from starskip.reports.past_evidence import past_evidence
from starskip.reports.saving_words import combined_evidence
from starskip.reports.shapes_evidence import IndexesToday, shape_votes, shapes_evidence
from starskip.settings import Settings
from starskip.settings.advice_groups import MS
from starskip.sql.mask_unparsed import mask_unparsed


def table_evidence(night: Night, table: str) -> Evidence:
    """Return the evidence of ``table``; raises SourceError if the night has no recommendation for it."""
    advice = published(night, "recommendations").parts([table]).get(table)
    if advice is None:
        raise SourceError(f"no recommendation for table {table} on {night.date_text}", source=table)
    properties = advice.properties
    night = night.without_families(properties.get(NOT_USED, ()))
    rows = published(night, "recommendations").read_table([table]).to_pylist()
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    built = frozenset(Index(row["kind"], row["column"]) for row in chosen)
    latency = latency_evidence(night, table)
    times = TimesEvidence(**told) if (told := properties.get("latency")) else None
    time = _time_saving(properties) if times is not None and times.trusted else None
    queries = properties["queries"] + properties.get("unlogged_queries", 0.0)
    workload = list(workload_shapes(published(night, "workload").read_table([table])))
    families = families_of_night(night).known
    sections = collected_sections(SectionSource(night, table, advice, workload), families)
    trees: StarTreeEvidence | None = sections["star_trees"]
    configs = night.table_configs()
    votes = shape_votes(night, table)
    entries = ledger_entries(night.store, table)
    quality = data_quality(night, table, properties)
    return Evidence(
        table=table,
        run_date=night.run_date,
        created_at=night.started_at,
        unit="milliseconds" if properties.get("unit") == MS else "entries",
        strategy=night.settings.scoring.strategy,
        pinot_version=night.settings.scoring.pinot_version,
        settings=_settings(night.settings),
        summary=Summary(
            queries=properties["queries"],
            unparsed=properties["unparsed"],
            failed=properties["failed"],
            shapes=properties["shapes"],
            entries_scanned_in_filter=properties["entries"],
            predicted_saving_ratio=properties["saving"]["ratio"],
            predicted_interval=Interval(properties["saving"]["low"], properties["saving"]["high"]),
            saving_ms=time.saving_ms * queries if time else None,
            table_bytes=properties["table_bytes"],
            table_rows=properties.get("table_rows"),
            combined=combined_evidence(properties["combined"]) if properties["combined"]["parts"] else None,
            time=time,
        ),
        change=config_change(
            chosen,
            rows,
            configured_indexes(configs, families).get(table),
            properties,
            trees,
            given_table_config(configs, table),
            families,
            chosen_answers(properties),
        ),
        chosen=tuple(chosen_index(row) for row in chosen),
        k_curve=k_curve(properties, len(chosen) + len(properties["answers"])),
        shapes=top_shapes(
            tuple(
                shapes_evidence(
                    night,
                    workload,
                    votes,
                    built,
                    chosen_trees(table, advice),
                    IndexesToday(
                        access_rules(night.settings.scoring.pinot_version, families=families),
                        frozenset(map(parse_index, properties.get("in_force", ()))),
                        frozenset(properties.get("sorted_columns", ())),
                        held_trees(table, advice),
                    ),
                    {each["shape_id"]: each["option"] or None for each in properties.get("harmed", ())},
                )
            )
        ),
        latency=latency,
        refused=(
            *(reasoned_index(row) for row in rows if row["verdict"] == "refused"),
            *refused_answers(properties),
        ),
        drops=tuple(reasoned_index(row) for row in rows if row["verdict"] == "drop"),
        data_quality=quality,
        show_literals=night.settings.reports.show_literals,
        typical_entries=TypicalEntries(**typical) if (typical := properties.get("typical_entries")) else None,
        sort_order=sort_order(properties),
        nights=properties.get("nights", 1),
        drops_withheld=properties.get("drops_withheld", ""),
        **sections,
        lake_only=table in lake_only_tables(night),
        answers=chosen_answers(properties),
        times=times,
        notes=tuple(properties.get("notes", ())),
        applied=applied_of_table(night, table, entries, workload),
        interval_factor=properties.get("interval_factor", 1.0),
        past=past_evidence(properties),
        version=installed_version("starskip"),
        actions=advised_actions(change_of_night(night, table).indexes, workload, votes, built),
        reload_seconds=reload_seconds(quality.segments, properties["table_bytes"], reload_rate(entries))
        if quality.segments and properties["table_bytes"]
        else None,
        run_note=run_note(night),
    )


def _time_saving(properties: Mapping[str, Any]) -> TimeSavingEvidence | None:
    time = properties.get("time")
    if not time or not properties["combined"]["parts"]:
        return None
    return TimeSavingEvidence(time["ms_per_query"], time["saving_ms"], Interval(*time["interval_ms"]))


def _settings(settings: Settings) -> tuple[Setting, ...]:
    return tuple(Setting(each.place, value, each.facts.unit) for each, value in settings.items())


def latency_evidence(night: Night, table: str) -> LatencyEvidence:
    """Return the model of ``table`` with its bins and quantiles, or why there is none."""
    properties = night_properties(night, "latency_model", table)
    model = properties.get("model")
    threshold = night.settings.latency.r2_threshold
    if not model:
        return LatencyEvidence(
            False, "no query of the night to fit a model on", None, None, None, None, threshold
        )
    spread = properties.get("quantiles", {})
    entries, latencies = spread.get("entries_scanned_in_filter", {}), spread.get("latency_ms", {})
    most_saved = properties.get("maximum_saving_ms") or {}
    is_fitted = model["alpha_ms"] is not None
    return LatencyEvidence(
        accepted=model["no_fit"] is None,
        reason=NO_FIT_SENTENCES[NoFit(model["no_fit"])] if model["no_fit"] else None,
        intercept_ms=model["intercept_ms"],
        alpha_ms_per_million_entries=model["alpha_ms"] * 1e6 if is_fitted else None,
        beta_ms_per_million_entries=model["beta_ms"] * 1e6 if is_fitted else None,
        r2_out_of_sample=model["r2_out_of_sample"],
        r2_threshold=threshold,
        bins=thinned_bins(_bins(night, table, model)),
        quantiles=tuple(
            Quantile(float(p), entries[p], latencies[p], most_saved.get(p)) for p in entries if p in latencies
        ),
    )


def _bins(night: Night, table: str, model: Mapping[str, Any]) -> tuple[LatencyBin, ...]:
    rows = published(night, "latency_bins").read_table([table])
    in_filter = rows["entries_scanned_in_filter"].to_numpy()
    post_filter = rows["entries_scanned_post_filter"].to_numpy()
    latencies = rows["latency_ms"].to_numpy()
    if model["alpha_ms"] is None:
        predicted: list[float | None] = [None] * len(rows)
    else:
        fit = model["intercept_ms"] + model["alpha_ms"] * in_filter + model["beta_ms"] * post_filter
        predicted = np.asarray(fit).tolist()
    columns = zip(in_filter.tolist(), post_filter.tolist(), latencies.tolist(), predicted, strict=True)
    return tuple(LatencyBin(*row) for row in columns)


def data_quality(night: Night, table: str, advice: Mapping[str, Any]) -> DataQuality:
    """Return the records, segments and checks of ``table``; ``advice``: properties of its recommendation."""
    log = night_properties(night, "queries", table).get("log", {})
    sampling = log.get("sampling", {})
    facts = night.store.snapshot("table_facts", night.date_text)
    segments = 0
    if facts is not None and table in facts.tables:
        segments = pc.count_distinct(facts.read_table([table], ["segment"])["segment"]).as_py()
    return DataQuality(
        lines=log.get("lines", 0),
        records=log.get("records", 0),
        queries=log.get("queries", 0),
        other=log.get("other", {}),
        rejected=log.get("rejected", {}),
        rejected_examples=_rejected_examples(night),
        outside_run_date=log.get("outside_run_date", 0),
        dropped_log_lines=sampling.get("dropped_lines", 0),
        sampled_queries=sampling.get("sampled_queries", 0),
        unlogged_queries=sampling.get("unlogged_queries", 0.0),
        segments=segments,
        damaged_segments=_damaged_segments(night, table),
        unlogged_texts=UnloggedTexts(**advice.get("unlogged_texts", {})),
        leaf_queries=advice.get("leaves", 0),
        wrapped=log.get("wrapped", {}),
        pulled=night_properties(night, "table_facts", table).get(PULLED),
        gates=tuple(
            check for verdict in read_verdicts(night) if verdict.table == table for check in verdict.checks
        ),
    )


def _rejected_examples(night: Night) -> tuple[RejectedExample, ...]:
    snapshot = night.store.snapshot("rejected_records", night.date_text)
    if snapshot is None:
        return ()
    columns = ["kind", "reason", "source_file", "source_position", "query_text"]
    batches = (b.filter(pc.equal(b["kind"], "rejected")) for b in snapshot.batches(columns=columns))
    rows = (row for batch in batches for row in batch.slice(0, MAX_REJECTED_EXAMPLES).to_pylist())
    return tuple(
        RejectedExample(
            row["source_file"],
            row["source_position"],
            row["reason"],
            mask_unparsed(row["query_text"] or ""),
        )
        for row in islice(rows, MAX_REJECTED_EXAMPLES)
    )


def _damaged_segments(night: Night, table: str) -> tuple[DamagedSegment, ...]:
    snapshot = night.store.snapshot("damaged_segments", night.date_text)
    if snapshot is None or table not in snapshot.tables:
        return ()
    rows = snapshot.read_table([table]).to_pylist()
    return tuple(DamagedSegment(row["source_file"], row["reason"], row["detail"] or "") for row in rows)
