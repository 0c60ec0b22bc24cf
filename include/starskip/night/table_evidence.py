"""All artefacts of one table and night brought together as the evidence of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow.compute as pc

from starskip.errors import SourceError
from starskip.indexes.families import configured_indexes, families_of_night
from starskip.indexes.index import Index as Candidate
from starskip.indexes.skipping.report.collect_section import skipping_report
from starskip.indexes.star_tree.chosen_trees import ChosenTree, chosen_trees
from starskip.indexes.star_tree.report.star_tree_report import star_tree_report
from starskip.indexes.star_tree.settings import StarTreeSettings
from starskip.latency.latency_model import NoFit
from starskip.latency.latency_report import NO_FIT_SENTENCES
from starskip.night.advice_evidence import (
    chosen_answers,
    chosen_index,
    column_label,
    config_change,
    k_curve,
    reasoned_index,
    sort_order,
)
from starskip.pinot.given_config import given_table_config
from starskip.reports.evidence import (
    MAX_REJECTED_EXAMPLES,
    DamagedSegment,
    DataQuality,
    Evidence,
    GateCheck,
    Interval,
    LatencyBin,
    LatencyEvidence,
    Quantile,
    RejectedExample,
    Setting,
    ShapeEvidence,
    Summary,
    TypicalEntries,
)
from starskip.reports.evidence_bounds import thinned_bins, top_shapes
from starskip.run.gate_verdicts import read_verdicts
from starskip.run.lake_only import lake_only_tables
from starskip.run.night import Night
from starskip.selection.vote_list import IndexSet, VoteList, building_lists, vote_lists
from starskip.settings import Settings
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import MAX_TEXT, mask_literals
from starskip.sql.query_text import query_text
from starskip.storage.snapshot import Snapshot
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.workload.unlogged_texts import UnloggedTexts


def table_evidence(night: Night, table: str) -> Evidence:
    """Return the evidence of ``table``; raises SourceError where the night has no recommendation for it."""
    advice = _snapshot(night, "recommendations").parts([table]).get(table)
    if advice is None:
        raise SourceError(f"no recommendation for table {table} on {night.date_text}", source=table)
    properties = advice.properties
    rows = _snapshot(night, "recommendations").read_table([table]).to_pylist()
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    built = frozenset(Candidate(row["kind"], row["column"]) for row in chosen)
    latency = _latency(night, table)
    saved_entries = properties["saving"]["ratio"] * (
        properties["entries"] + properties.get("unlogged_entries", 0.0)
    )
    model = _properties(night, "latency_model", table).get("model") or {}
    workload = list(workload_shapes(_snapshot(night, "workload").read_table([table])))
    trees = star_tree_report(night, table, advice, workload)
    configs = night.table_configs()
    return Evidence(
        table=table,
        run_date=night.run_date,
        created_at=night.started_at,
        # The optimiser maximises entries; where the latency model fits they are told in milliseconds too.
        unit="milliseconds" if latency.accepted else "entries",
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
            saving_ms=saved_entries * model["alpha_ms"] if latency.accepted else None,
            table_bytes=properties["table_bytes"],
        ),
        change=config_change(
            chosen,
            rows,
            configured_indexes(configs, families_of_night(night).known).get(table),
            properties,
            trees,
            given_table_config(night.table_config_paths, configs, table),
            families_of_night(night).known,
            chosen_answers(properties),
        ),
        chosen=tuple(chosen_index(row) for row in chosen),
        k_curve=k_curve(properties, len(chosen)),
        shapes=top_shapes(
            tuple(
                _shapes(
                    night,
                    table,
                    workload,
                    built,
                    chosen_trees(table, advice),
                    sum(tree.is_in_force for tree in trees.chosen) if trees else 0,
                )
            )
        ),
        latency=latency,
        refused=tuple(reasoned_index(row) for row in rows if row["verdict"] == "refused"),
        drops=tuple(reasoned_index(row) for row in rows if row["verdict"] == "drop"),
        data_quality=_data_quality(night, table, properties),
        show_literals=night.settings.reports.show_literals,
        typical_entries=TypicalEntries(**typical) if (typical := properties.get("typical_entries")) else None,
        sort_order=sort_order(properties),
        nights=properties.get("nights", 1),
        drops_withheld=properties.get("drops_withheld", ""),
        star_trees=trees,
        skipping=skipping_report(night, table),
        lake_only=table in lake_only_tables(night),
        answers=chosen_answers(properties),
    )


def _snapshot(night: Night, artefact: str) -> Snapshot:
    snapshot = night.store.snapshot(artefact, night.date_text)
    if snapshot is None:
        raise SourceError(
            f"no {artefact} of {night.date_text}: run the earlier stages first", source=artefact
        )
    return snapshot


def _properties(night: Night, artefact: str, table: str) -> Mapping[str, Any]:
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    return part.properties if part else {}


def _settings(settings: Settings) -> tuple[Setting, ...]:
    return tuple(Setting(each.place, value, each.facts.unit) for each, value in settings.items())


def _shapes(
    night: Night,
    table: str,
    workload: Sequence[ShapeWorkload],
    chosen: IndexSet,
    trees: Sequence[ChosenTree],
    in_force: int,
) -> list[ShapeEvidence]:
    """Return all shapes; the report numbers the chosen ``trees`` behind those ``in_force``."""
    total = sum(shape.weighted_entries for shape in workload) or 1.0
    votes: dict[str, list[VoteList]] = {}
    for item in building_lists(vote_lists(_snapshot(night, "votes").read_table([table]))):
        votes.setdefault(item.shape_id, []).append(item)
    read: dict[str, tuple[int, float]] = {}
    for number, tree in enumerate(trees, 1 + in_force):
        for shape_id, documents in tree.shapes.items():
            read[shape_id] = number, documents or 0.0
    return [
        _shape(shape, votes.get(shape.shape_id, []), chosen, read.get(shape.shape_id), total, night.settings)
        for shape in workload
    ]


def _shape(
    shape: ShapeWorkload,
    lists: Sequence[VoteList],
    chosen: IndexSet,
    tree: tuple[int, float] | None,
    total: float,
    settings: Settings,
) -> ShapeEvidence:
    """Return one shape; ``tree``: number of the chosen star-tree that answers it, and the documents read."""
    entries = shape.weighted_entries
    saving_ratio = 0.0
    if tree is None:
        built = frozenset(s for item in lists for s in item.indexes if s in chosen)
        if entries:
            saving_ratio = sum(item.saving(built).entries for item in lists) / entries
        helpers = tuple(sorted(map(column_label, built)))
    else:
        behind = settings.of(StarTreeSettings).post_filter_entry_weight * shape.entries_scanned_post_filter
        scanned = shape.entries_scanned_in_filter + behind
        # Failed queries scan as before: no advice counts them as saved.
        read = shape.failed_entries_scanned_in_filter + (shape.queries - shape.failed) * tree[1]
        if scanned:
            saving_ratio = max(1.0 - read / scanned, 0.0)
        helpers = (f"star-tree {tree[0]}",)
    example = next(iter(shape.instances), None)
    show = settings.reports.show_literals and shape.is_parsed and example is not None
    return ShapeEvidence(
        shape_id=shape.shape_id,
        masked_text=mask_literals(shape.text, quoted_names=True)
        if shape.is_parsed
        else mask_unparsed(shape.text, limit=MAX_TEXT),
        queries=shape.queries,
        entries_scanned_in_filter=shape.entries_scanned_in_filter,
        entries_ratio=entries / total,
        predicted_saving_ratio=saving_ratio,
        columns=helpers,
        latency_ms=shape.latency_ms_mean,
        full_text=query_text(shape.skeleton, example) if show and example is not None else None,
    )


def _latency(night: Night, table: str) -> LatencyEvidence:
    properties = _properties(night, "latency_model", table)
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
    rows = _snapshot(night, "latency_bins").read_table([table])
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


def _data_quality(night: Night, table: str, advice: Mapping[str, Any]) -> DataQuality:
    log = _properties(night, "queries", table).get("log", {})
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
        gates=tuple(
            GateCheck(verdict.stage, check.check, check.success, check.observed, check.expected)
            for verdict in read_verdicts(night)
            if verdict.table == table
            for check in verdict.checks
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
