from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starskip.advisor.families.skipping.report.section_data import (
    ChosenSkippingIndex,
    OtherSkippingIndex,
    RefusedSkippingIndex,
    ReplayedShape,
    SkippedShape,
    SkippingFactors,
    SkippingIndexes,
)
from starskip.advisor.families.star_tree.report.star_tree_evidence import (
    AnsweredShape,
    ChosenStarTree,
    ProvedShape,
    RefusedStarTree,
    ShapeOfStarskipOnly,
    StarTreeEvidence,
)
from starskip.errors import SourceError
from starskip.reports.advice_values import ChosenIndex, ConfigChange, Interval, KCurve, KeyChange, KPoint
from starskip.reports.evidence import Evidence, Setting, Summary
from starskip.reports.evidence_json import evidence_from_json, evidence_to_json, harmless_json
from starskip.reports.log_values import (
    DataQuality,
    LatencyBin,
    LatencyEvidence,
    Quantile,
    RejectedExample,
    ShapeEvidence,
    Shapes,
)

pytestmark = pytest.mark.slow

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**63), 2**63)
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
INTERVALS = st.tuples(FINITE, FINITE).map(lambda pair: Interval(min(pair), max(pair)))


def tuples(kind: type, **given_fields: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(st.builds(kind, **given_fields), max_size=3).map(tuple)


LATENCY = st.builds(
    LatencyEvidence,
    accepted=st.booleans(),
    reason=TEXT.filter(bool),
    intercept_ms=st.none() | FINITE,
    alpha_ms_per_million_entries=st.none() | FINITE,
    beta_ms_per_million_entries=st.none() | FINITE,
    r2_out_of_sample=st.none() | FINITE,
    r2_threshold=FINITE,
    bins=tuples(
        LatencyBin,
        entries_scanned_in_filter=FINITE,
        entries_scanned_post_filter=FINITE,
        latency_ms=FINITE,
        predicted_ms=st.none() | FINITE,
    ),
    quantiles=tuples(Quantile, probability=FINITE, entries_scanned_in_filter=FINITE, latency_ms=FINITE),
)
STAR_TREES = st.builds(
    StarTreeEvidence,
    chosen=tuples(
        ChosenStarTree,
        dimensions=NAMES,
        skipped_star_nodes=NAMES,
        pairs=NAMES,
        detail=st.none() | TEXT,
        shapes=tuples(AnsweredShape),
        saving_ratio=st.none() | FINITE,
    ),
    refused=tuples(RefusedStarTree, dimensions=NAMES, pairs=NAMES, size_bytes=st.none() | WHOLE),
    proved=tuples(
        ProvedShape,
        rows_read_from_tree=st.none() | FINITE,
        rows_read_by_scan=st.none() | FINITE,
        tree_ms=st.none() | FINITE,
        scan_ms=st.none() | FINITE,
    ),
    note=st.none() | TEXT,
    by_starskip_only=tuples(ShapeOfStarskipOnly),
    unanswerable=st.dictionaries(TEXT, WHOLE, max_size=3),
)
FACTORS = st.none() | st.builds(SkippingFactors, FINITE, FINITE, FINITE, FINITE)
MEANS = st.none() | FINITE
SKIPPING = st.builds(
    SkippingIndexes,
    chosen=tuples(
        ChosenSkippingIndex,
        columns=NAMES,
        individual_saving_ratio=MEANS,
        progressive_saving_ratio=MEANS,
        size_bytes=st.none() | WHOLE,
    ),
    others=tuples(OtherSkippingIndex, detail=st.none() | TEXT, size_bytes=st.none() | WHOLE),
    refused=tuples(RefusedSkippingIndex),
    shapes=tuples(SkippedShape, queries=FINITE, bytes_ratio=FINITE, factors=FACTORS, saving_ratio=MEANS),
    replayed=tuples(
        ReplayedShape,
        plain_files_read=MEANS,
        skipping_files_read=MEANS,
        plain_bytes_read=MEANS,
        skipping_bytes_read=MEANS,
        plain_ms=MEANS,
        skipping_ms=MEANS,
    ),
    relayout=NAMES,
    means=FACTORS,
    queries=MEANS,
    total_bytes=MEANS,
    saving_ratio=MEANS,
)
EVIDENCE = st.builds(
    Evidence,
    table=TEXT,
    created_at=st.datetimes(timezones=st.just(UTC)),
    settings=tuples(Setting, value=st.none() | st.booleans() | WHOLE | FINITE | TEXT),
    summary=st.builds(
        Summary, predicted_saving_ratio=FINITE, predicted_interval=INTERVALS, saving_ms=st.none() | FINITE
    ),
    change=st.builds(
        ConfigChange,
        keys=st.dictionaries(
            TEXT, st.builds(KeyChange, st.none() | TEXT | NAMES, st.none() | TEXT | NAMES), max_size=3
        ),
    ),
    chosen=tuples(
        ChosenIndex, columns=NAMES, individual_saving_ratio=FINITE, progressive_saving_ratio=FINITE
    ),
    k_curve=st.builds(KCurve, points=tuples(KPoint, columns=NAMES, saving_ratio=FINITE, interval=INTERVALS)),
    shapes=st.builds(
        Shapes,
        top=tuples(
            ShapeEvidence,
            columns=NAMES,
            all_entries_ratio=FINITE,
            predicted_saving_ratio=FINITE,
            latency_ms=st.none() | FINITE,
        ),
    ),
    latency=LATENCY,
    data_quality=st.builds(
        DataQuality,
        other=st.dictionaries(TEXT, WHOLE, max_size=3),
        rejected=st.dictionaries(TEXT, WHOLE, max_size=3),
        rejected_examples=tuples(RejectedExample),
    ),
    show_literals=st.booleans(),
    star_trees=st.none() | STAR_TREES,
    skipping=st.none() | SKIPPING,
    schema_version=st.just(1),
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(EVIDENCE)
def test_reading_what_was_written_is_the_identity(evidence: Evidence) -> None:
    text = evidence_to_json(evidence)
    read = evidence_from_json(text, "report.json")
    assert read == evidence
    assert evidence_to_json(read) == text


def test_setting_of_a_whole_number_stays_whole(evidence: Evidence) -> None:
    kept = replace(evidence, settings=(Setting("a", 2), Setting("b", 2.0), Setting("c", True)))
    read = evidence_from_json(evidence_to_json(kept), "report.json")
    assert [type(each.value) for each in read.settings] == [int, float, bool]


def test_fields_with_defaults_may_be_absent(evidence: Evidence) -> None:
    document = json.loads(evidence_to_json(evidence))
    optional = ("show_literals", "skipping", "schema_version")
    for name in optional:
        del document[name]
    assert evidence_from_json(json.dumps(document), "report.json") == evidence
    assert set(optional) <= {field.name for field in fields(Evidence)}


def test_nan_is_not_written(evidence: Evidence) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        evidence_to_json(replace(evidence, summary=replace(evidence.summary, saving_ms=float("nan"))))


def test_harmless_json_is_ascii_that_starts_no_tag() -> None:
    hostile = "</script><!-- & ``` \x7f\x1b\u202e é"
    text = harmless_json({hostile: hostile})
    assert json.loads(text) == {hostile: hostile}
    assert not set("<>&`\x7f\x1b") & set(text)
    assert text.isascii()


def damaged(evidence: Evidence, **changes: object) -> str:
    return json.dumps(json.loads(evidence_to_json(evidence)) | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run_date": "yesterday"}, "report.json: Invalid isoformat string: 'yesterday'"),
        ({"summary": 3}, "report.json: report.summary: expected Summary, found 3"),
        ({"chosen": [{}]}, r"report.json: report.chosen\[0\]: field columns is missing"),
        ({"unit": "hours"}, "report.json: report.unit: expected"),
        ({"surprise": 1}, "report.json: report: unknown field surprise"),
        ({"schema_version": 2}, "report.json: report of schema 2, this Starskip reads up to 1: update it"),
        ({"schema_version": True}, "report.schema_version: expected int, found true"),
        ({"created_at": "2026-11-18T00:00:00"}, "is not in UTC"),
    ],
)
def test_document_that_does_not_fit_is_one_line(
    evidence: Evidence, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        evidence_from_json(damaged(evidence, **changes), "report.json")
    assert caught.value.source == "report.json"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", b"\xff\xfe\x00", "[" * 100_000, '{"a": NaN}', "1" * 10_000]
)
def test_text_that_is_no_report_is_one_line(text: str | bytes) -> None:
    with pytest.raises(SourceError, match=r"^report\.json: ") as caught:
        evidence_from_json(text, "report.json")
    assert "\n" not in str(caught.value)


def test_number_too_big_for_a_double(evidence: Evidence) -> None:
    text = evidence_to_json(evidence).replace('"r2_threshold": 0.5', '"r2_threshold": 1' + "0" * 400)
    with pytest.raises(SourceError, match=r"report\.json"):
        evidence_from_json(text, "report.json")
