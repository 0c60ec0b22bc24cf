"""The nights that the golden reports show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from applied_cases import applied
from past_case import past
from report_data import (
    ACTIONS,
    COLUMNS,
    CURVE,
    GATES,
    QUANTILES,
    REFUSALS,
    SETTINGS,
    SIZES,
    TOTAL,
    TREE_IN_FORCE,
    bins,
    config_with,
    shapes,
    skipping_indexes,
    star_trees,
    together,
    tree_actions,
)
from starskip.advisor.families.skipping.report.section_data import SkippingIndexes
from starskip.advisor.families.star_tree.report.star_tree_evidence import (
    StarTreeEvidence,
    star_tree_entry,
    star_tree_words,
)
from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.advisor.selection.table_advice import TypicalEntries
from starskip.advisor.workload.unlogged_texts import UnloggedTexts
from starskip.reports.advice_values import (
    ChosenIndex,
    ConfigChange,
    Interval,
    KCurve,
    KeyChange,
    KPoint,
    NamedIndex,
    ReasonedIndex,
    SortOrder,
    TimeSavingEvidence,
)
from starskip.reports.evidence import Evidence, Summary
from starskip.reports.log_values import (
    DamagedSegment,
    DataQuality,
    LatencyEvidence,
    RejectedExample,
    TimesEvidence,
    top_shapes,
)


def lineitem() -> Evidence:
    """A sound night, counted in entries, since latency does not follow scanning."""
    return Evidence(
        table="lineitem",
        run_date=date(2026, 11, 18),
        created_at=datetime(2026, 11, 19, 1, 4, 30, tzinfo=UTC),
        unit="entries",
        strategy="leapfrog",
        pinot_version="0.11.0",
        settings=SETTINGS,
        summary=Summary(
            queries=900,
            unparsed=3,
            failed=2,
            shapes=37,
            entries_scanned_in_filter=TOTAL,
            predicted_saving_ratio=0.7233,
            predicted_interval=Interval(0.688, 0.757),
            table_bytes=20_093_570,
            combined=together(0.6102),
        ),
        change=ConfigChange(
            keys={"invertedIndexColumns": KeyChange(current=(), proposed=COLUMNS)},
            add=tuple(NamedIndex("inverted", (column,)) for column in COLUMNS),
        ),
        chosen=(
            ChosenIndex("inverted", ("l_suppkey",), 0.4415, 0.4415, 655_676, 9),
            ChosenIndex("inverted", ("l_shipmode",), 0.1541, 0.1540, 305_548, 6),
            ChosenIndex("inverted", ("l_partkey",), 0.1364, 0.0736, 1_593_800, 7),
            ChosenIndex("inverted", ("l_shipinstruct",), 0.0865, 0.0542, 206_908, 6),
        ),
        k_curve=KCurve(
            tuple(KPoint(k, columns, saving, Interval(low, high)) for k, columns, saving, low, high in CURVE),
            chosen_k=4,
            stop_reason="below_min_gain",
        ),
        shapes=replace(top_shapes(shapes()), other_shapes=19, other_entries_scanned_in_filter=30_465_690),
        latency=LatencyEvidence(
            accepted=False,
            reason="Entries scanned explain little of the latency measured: the machine was shared and most "
            "queries took under 10 ms.",
            intercept_ms=2.1,
            alpha_ms_per_million_entries=18.4,
            beta_ms_per_million_entries=21.0,
            r2_out_of_sample=0.17,
            r2_threshold=0.5,
            bins=bins(noise_ms=19.0),
            quantiles=QUANTILES,
        ),
        refused=tuple(
            ReasonedIndex("inverted", (column,), reason, text, SIZES.get(column))
            for column, reason, text in REFUSALS
        ),
        drops=(),
        data_quality=DataQuality(
            lines=1_742,
            records=1_495,
            queries=1_486,
            other={"unknown_column": 5, "table_not_found": 3},
            rejected={"no_known_format": 1},
            rejected_examples=(
                RejectedExample(
                    "broker-2026-11-18.log.gz",
                    48_213,
                    "no_known_format",
                    "?/?/? ?:?:? WARN [Unknown] requestId=?",
                ),
            ),
            segments=4,
            gates=GATES,
        ),
        typical_entries=TypicalEntries(0.9, 300_712.0, 299_814.0),
        sort_order=SortOrder("l_suppkey", ("l_orderkey",), 0.414, Interval(0.37, 0.45)),
        actions=ACTIONS,
        reload_seconds=4.8,
    )


def milliseconds() -> Evidence:
    """Latency follows scanning; an unused index goes; one segment is damaged; literals are shown."""
    evidence = lineitem()
    shown = tuple(
        replace(shape, full_text=shape.masked_text.replace("?", "4711", 1)) for shape in evidence.shapes.top
    )
    return replace(
        evidence,
        unit="milliseconds",
        nights=3,
        star_trees=star_trees(),
        skipping=skipping_indexes(),
        sort_order=replace(evidence.sort_order, column=None) if evidence.sort_order else None,
        show_literals=True,
        settings=tuple(replace(s, value=True) if s.name == "show_literals" else s for s in SETTINGS),
        summary=replace(
            evidence.summary,
            saving_ms=4_310.0,
            combined=together(0.5871, star_tree=0.1437),
            time=TimeSavingEvidence(6.5, 2.96, Interval(2.4, 3.5)),
        ),
        times=TimesEvidence(
            "own times",
            0.93,
            trusted=True,
            mistrust="",
            ms_per_query=6.5,
            constant_ms=1.1,
            waiting_ms=0.0,
            candidates={"own times": 0.93, "own least times": 0.91, "line": 0.42},
        ),
        change=ConfigChange(
            keys={
                "invertedIndexColumns": KeyChange(("l_comment",), COLUMNS),
                "enableDynamicStarTreeCreation": KeyChange(None, "true"),
                "starTreeIndexConfigs": KeyChange(
                    (star_tree_words(TREE_IN_FORCE),),
                    tuple(map(star_tree_words, (TREE_IN_FORCE, *map(star_tree_entry, star_trees().chosen)))),
                ),
            },
            add=(
                *evidence.change.add,
                *(NamedIndex("star_tree", tree.dimensions) for tree in star_trees().chosen),
            ),
            drop=(NamedIndex("inverted", ("l_comment",)),),
            star_trees=(TREE_IN_FORCE,),
            config=config_with(
                COLUMNS, TREE_IN_FORCE, *map(star_tree_entry, star_trees().chosen), builds_on_reload=True
            ),
            hidden_keys=("tableIndexConfig.streamConfigs.stream.kafka.password",),
            current=config_with(("l_comment",), TREE_IN_FORCE),
        ),
        shapes=replace(evidence.shapes, top=shown),
        actions=(
            *(replace(each, saving_ms=0.6) for each in evidence.actions),
            *tree_actions(),
        ),
        applied=applied(),
        interval_factor=1.4,
        past=past(),
        latency=replace(
            evidence.latency,
            accepted=True,
            reason=None,
            r2_out_of_sample=0.93,
            bins=bins(noise_ms=0.9),
            quantiles=tuple(
                replace(each, maximum_saving_ms=round(18.4e-6 * each.entries_scanned_in_filter, 3))
                for each in QUANTILES
            ),
        ),
        drops=(
            ReasonedIndex(
                "inverted", ("l_comment",), "not_used", "no query of 7 nights filters on it; 6.4 MB"
            ),
        ),
        data_quality=replace(
            evidence.data_quality,
            damaged_segments=(DamagedSegment("lineitem_3.tar.gz", "truncated", "it ends at byte 1,048,576"),),
        ),
    )


def nothing_to_recommend() -> Evidence:
    """The day's queries scan nothing that an index would save."""
    evidence = lineitem()
    return replace(
        evidence,
        table="airlineStats",
        star_trees=StarTreeEvidence(note="No star-tree would save enough to be worth its upkeep."),
        skipping=SkippingIndexes(note="No Spark query of the last 7 nights reads the table."),
        summary=replace(
            evidence.summary,
            predicted_saving_ratio=0.0,
            predicted_interval=Interval(0.0, 0.01),
            combined=None,
        ),
        change=ConfigChange(keys={}),
        chosen=(),
        actions=(),
        k_curve=KCurve((KPoint(1, ("Carrier",), 0.011, Interval(0.0, 0.02)),), 0, "below_min_gain"),
        shapes=replace(
            evidence.shapes,
            top=tuple(
                replace(
                    s,
                    predicted_saving_ratio=0.0,
                    columns=(),
                    plan=(),
                    entries_a_query_advised=s.entries_a_query,
                )
                for s in evidence.shapes.top[:6]
            ),
        ),
        refused=(
            ReasonedIndex(
                "inverted", ("Carrier",), "saves_too_little", "would save 1.1 %, below min_gain (5 %)"
            ),
        ),
    )


def stopped_by_gate() -> Evidence:
    """Too many rejected records: no advice for the table this night."""
    evidence = nothing_to_recommend()
    gate = GateCheck(
        "parse_query_logs", "at most 5 % of the records are rejected", False, "38.2 %", "at most 5 %"
    )
    return replace(
        evidence,
        typical_entries=None,
        sort_order=None,
        star_trees=None,
        skipping=None,
        table="lineitem",
        k_curve=KCurve((), 0, "no_more_candidates"),
        shapes=top_shapes(()),
        refused=(),
        latency=LatencyEvidence(
            False, "The gate after parse_query_logs failed.", None, None, None, None, 0.5
        ),
        data_quality=replace(
            evidence.data_quality,
            rejected={"no_known_format": 571},
            gates=(gate, *evidence.data_quality.gates[1:]),
        ),
    )


def empty_log() -> Evidence:
    """A day without queries."""
    evidence = stopped_by_gate()
    return replace(
        evidence,
        typical_entries=None,
        sort_order=None,
        summary=Summary(0, 0, 0, 0, 0, 0.0, Interval(0.0, 0.0)),
        latency=replace(evidence.latency, reason="The log holds no query of the table."),
        data_quality=DataQuality(0, 0, 0, {}, {}, segments=4, gates=GATES[2:3]),
    )


def without_log() -> Evidence:
    """Advice for a new table: no log, every column queried equally."""
    evidence = empty_log()
    full = lineitem()
    return replace(
        evidence,
        typical_entries=None,
        sort_order=None,
        summary=Summary(0, 0, 0, 0, 0, 0.41, Interval(0.2, 0.6), workload="equal_columns"),
        change=ConfigChange({"invertedIndexColumns": KeyChange((), COLUMNS[:2])}, full.change.add[:2]),
        chosen=full.chosen[:2],
        actions=tuple(replace(each, saving_ratio=None) for each in full.actions[:2]),
        k_curve=replace(full.k_curve, points=full.k_curve.points[:3], chosen_k=2, stop_reason="max_indexes"),
        refused=full.refused[:3],
    )


def lake_only() -> Evidence:
    """A table that lies in the lake alone."""
    evidence = stopped_by_gate()
    return replace(
        evidence,
        table="events",
        summary=Summary(0, 0, 0, 0, 0, 0.0, Interval(0.0, 0.0)),
        data_quality=DataQuality(0, 0, 0, {}, {}, gates=GATES[2:3]),
        star_trees=None,
        skipping=skipping_indexes(),
        lake_only=True,
    )


def redacted() -> Evidence:
    """The broker redacts its log, and half of the queries are multi-stage."""
    evidence = lineitem()
    texts = UnloggedTexts(880, 0.97, 12, 0.012)
    return replace(
        evidence, data_quality=replace(evidence.data_quality, unlogged_texts=texts, leaf_queries=460)
    )


def without_text() -> Evidence:
    """The broker logs no text of any query of the table."""
    evidence = nothing_to_recommend()
    texts = UnloggedTexts(texts_queries=900, texts_entries_ratio=1.0, is_everything=True)
    return replace(
        evidence,
        summary=replace(evidence.summary, unparsed=900, shapes=0),
        star_trees=None,
        skipping=None,
        sort_order=None,
        typical_entries=None,
        k_curve=KCurve((), 0, "nothing_to_save"),
        shapes=top_shapes(()),
        refused=(),
        data_quality=replace(evidence.data_quality, unlogged_texts=texts, leaf_queries=1),
    )


def long_names() -> Evidence:
    """Names of 10,000 characters, and of characters that break lines, tables and tags."""
    evidence = lineitem()
    names = ("n" * 10_000, "wide |pipe` tick", "<b>bold</b>", "two\nlines \x1b[31m", "漢字 名前")
    return replace(
        evidence,
        table="t" * 10_000,
        change=ConfigChange(
            {"invertedIndexColumns": KeyChange((), names)}, tuple(NamedIndex("inverted", (n,)) for n in names)
        ),
        chosen=tuple(replace(evidence.chosen[0], columns=(name,)) for name in names),
        actions=tuple(replace(evidence.actions[0], columns=(name,)) for name in names),
        refused=tuple(
            ReasonedIndex("inverted", (f"{i}" + "x" * 5_000,), "saves_too_little", "0.1 %") for i in range(80)
        ),
    )


CASES = {
    each.__name__: each
    for each in (
        lineitem, milliseconds, nothing_to_recommend, stopped_by_gate, empty_log, without_log, lake_only,
        redacted, without_text, long_names,
    )
}  # fmt: skip
