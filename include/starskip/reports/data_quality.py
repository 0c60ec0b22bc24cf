"""Counts of records that could not be read, and checks of the gates, as evidence of a table's report."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pyarrow.compute as pc

from starskip.advisor.run.gate_verdicts import read_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.workload.unlogged_texts import UnloggedTexts
from starskip.reports.log_values import (
    MAX_REJECTED_EXAMPLES,
    DamagedSegment,
    DataQuality,
    RejectedExample,
)
from starskip.reports.night_artefacts import night_properties
from starskip.sql.mask_unparsed import mask_unparsed


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
