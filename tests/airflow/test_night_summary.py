from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from report_cases import CASES
from starskip.airflow.night_summary import night_summary
from starskip.reports.evidence import Evidence
from starskip.reports.report_files import report_files

SINCE = datetime(2026, 11, 19, tzinfo=UTC)


@pytest.fixture
def evidence() -> Evidence:
    """A night with star-trees and skipping indexes, without pictures."""
    full = CASES["milliseconds"]()
    return replace(
        full,
        k_curve=replace(full.k_curve, points=()),
        shapes=replace(full.shapes, top=()),
        latency=replace(full.latency, bins=()),
    )


def exported(evidence: Evidence, folder: Path) -> Mapping[str, Mapping[str, Path]]:
    paths = {}
    for name, content in report_files(evidence).items():
        paths[name] = folder / name
        paths[name].write_bytes(content)
    return {evidence.table: paths}


def test_star_trees_and_skipping_indexes_are_listed_with_what_they_proved(
    evidence: Evidence, tmp_path: Path
) -> None:
    lines = night_summary(exported(evidence, tmp_path), SINCE, tmp_path).splitlines()
    assert "4 skipping indexes let Spark queries read 62 % fewer bytes." in lines[1]
    assert "  star-tree built, 2.04 MB (21.1 %): l_returnflag, l_linestatus, l_shipmode, l_shipdate" in lines
    assert "  skipping index refreshed, 4.21 kB (0.0 %): minmax:l_shipdate" in lines
    assert "  skipping index failed, 402 kB (0.2 %): prefix:l_comment:6" in lines
    assert "  5 of 6 query shapes answered with skipping as without it" in lines
    assert any(line.startswith("  layout, not metadata, is the problem of 33 of 196") for line in lines)
    assert lines[-3:] == ["  report.html", "  report.json", "  report.md"]


def test_a_night_without_skipping_says_nothing_of_it(evidence: Evidence, tmp_path: Path) -> None:
    text = night_summary(exported(replace(evidence, skipping=None), tmp_path), SINCE, tmp_path)
    assert "skipping" not in text


def test_many_indexes_and_hostile_names_stay_short(evidence: Evidence, tmp_path: Path) -> None:
    assert evidence.skipping is not None
    index = replace(evidence.skipping.chosen[0], specification="minmax:" + "x\x1b[31m" * 1_000)
    skipping = replace(evidence.skipping, chosen=(index,) * 40, layout="\x1b" * 1_000)
    text = night_summary(exported(replace(evidence, skipping=skipping), tmp_path), SINCE, tmp_path)
    assert "  and 28 more" in text.splitlines()
    assert "\x1b" not in text and len(text) < 4_000


def test_a_report_of_an_earlier_run_is_only_named(evidence: Evidence, tmp_path: Path) -> None:
    later = datetime(2026, 11, 20, tzinfo=UTC)
    text = night_summary(exported(evidence, tmp_path), later, tmp_path)
    assert text == "lineitem: no new report; that of 2026-11-19 01:04 UTC stands"
