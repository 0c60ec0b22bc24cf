"""Sentences of the report on log lines that the broker dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starskip.reports.evidence import Evidence
from starskip.reports.render_html import render_html
from starskip.reports.report_files import render_markdown
from starskip.reports.sentences import sampling_words

SENTENCE = "Corrected for 12,345 dropped log lines: 5,000 queries of at most 1 s have weight 3.1 on average."


@pytest.fixture
def sampled(evidence: Evidence) -> Evidence:
    quality = replace(
        evidence.data_quality, dropped_log_lines=12_345, sampled_queries=5_000, unlogged_queries=10_500.0
    )
    return replace(evidence, data_quality=quality)


def test_dropped_lines_are_told_in_each_report(evidence: Evidence, sampled: Evidence) -> None:
    for render in (render_html, render_markdown):
        assert SENTENCE in render(sampled)
        assert "dropped log lines" not in render(evidence)


def test_dropped_lines_that_no_query_stands_for(sampled: Evidence) -> None:
    alone = replace(sampled.data_quality, sampled_queries=0, unlogged_queries=0.0)
    assert sampling_words(alone) == (
        "Corrected for 12,345 dropped log lines: no query was logged that could stand for them."
    )
    assert sampling_words(replace(alone, dropped_log_lines=0)) == ""
