"""Rows of a segment that has not changed are decoded once, and give the same votes as if decoded again."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from settings_with import settings_with
from starskip.advisor.cost import decoded_segments, kept_windows
from starskip.advisor.cost.sampled_segments import listed_segments, sample_segments
from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.storage.artefact_store import Experiment
from starskip.tables.row_window import RowWindow
from starskip.tables.window_bytes import window_bytes, window_from_bytes

STAGES = STAGE_NAMES[: STAGE_NAMES.index("score_votes") + 1]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the segments that were decoded."""
    names: list[str] = []
    decode = decoded_segments.decode_segment

    def noted(sample: Any, *arguments: Any) -> Any:
        names.append(Path(sample.file.path).name.partition(".")[0])
        return decode(sample, *arguments)

    monkeypatch.setattr(kept_windows, "decode_segment", noted)
    return names


def windows_root(lab: Any) -> Path:
    return Path(lab.root / "artefacts" / "segment_windows")


def test_a_second_run_decodes_nothing_and_votes_the_same(lab: Any, decoded: list[str]) -> None:
    lab.run(stages=STAGES)
    first = lab.published("votes"), lab.published("index_sizes")
    assert {name.partition("_")[0] for name in decoded} == {"lineitem", "airlineStats"}
    decoded.clear()
    lab.run(stages=STAGES)
    assert decoded == []
    assert (lab.published("votes"), lab.published("index_sizes")) == first


def test_a_new_segment_alone_is_decoded(lab: Any, decoded: list[str]) -> None:
    lab.settings = settings_with(lab.settings, window_rows_per_table=1, max_sampled_segments=8)
    lab.run(stages=STAGES)
    decoded.clear()
    (old,) = (lab.segments / "lineitem").iterdir()
    shutil.copy2(old, old.with_name("lineitem_new.tar.gz"))
    lab.run(stages=STAGES)
    assert decoded == ["lineitem_new"]


def test_another_column_or_more_rows_are_decoded_anew(lab: Any, decoded: list[str], log_line: Any) -> None:
    for path in lab.logs.iterdir():
        path.unlink()
    for name in ("l_suppkey", "l_suppkey = 1 AND l_quantity"):
        lab.log(
            log_line("lineitem", f"SELECT COUNT(*) FROM lineitem WHERE {name} = 7"),
            log_line("airlineStats", "SELECT COUNT(*) FROM airlineStats WHERE Carrier = 'AA'"),
        )
        decoded.clear()
        lab.run(stages=STAGES)
    assert {name.partition("_")[0] for name in decoded} == {"lineitem"}
    decoded.clear()
    lab.settings = settings_with(lab.settings, window_rows_per_table=4_096)
    lab.run(stages=STAGES)
    assert {name.partition("_")[0] for name in decoded} == {"lineitem", "airlineStats"}


def test_windows_that_are_gone_or_damaged_are_decoded_again(lab: Any, decoded: list[str]) -> None:
    lab.run(stages=STAGES)
    first = lab.published("votes")
    for path in windows_root(lab).rglob("*.parquet"):
        path.write_bytes(b"damaged")
    decoded.clear()
    lab.run(stages=STAGES)
    assert decoded
    assert lab.published("votes") == first


def test_an_experiment_keeps_none(lab: Any) -> None:
    night = lab.night()
    tried = replace(night, store=replace(night.store, experiment=Experiment(night.date_text, "tried")))
    lab.run(tried, stages=STAGES)
    assert night.store.snapshot("segment_windows", "current") is None


def test_the_next_night_decodes_only_what_it_has_not_seen(lab: Any, decoded: list[str]) -> None:
    lab.run(stages=STAGES)
    decoded.clear()
    later = replace(lab.night(), run_date=date(2026, 11, 21))
    (day,) = lab.logs.iterdir()

    lab.log(gzip.decompress(day.read_bytes()).decode().replace("2026/11/20", "2026/11/21"), name="later.log")
    lab.run(later, stages=STAGES)
    assert decoded == []


def test_a_window_comes_back_as_it_was(lab: Any) -> None:
    lab.run(stages=STAGES)
    snapshot = lab.night().store.snapshot("segment_windows", "current")
    for row in snapshot.read_table().to_pylist():
        window = window_from_bytes(row["window"])
        assert isinstance(window, RowWindow)
        again = window_from_bytes(window_bytes(window))
        assert again.columns.keys() == window.columns.keys()
        assert {*window.columns, *window.unreadable} == set(row["columns"])
        for name, column in window.columns.items():
            other = again.columns[name]
            assert column.codes.tolist() == other.codes.tolist()
            assert column.codes.dtype == other.codes.dtype
            for part in ("dictionary", "values", "ends"):
                assert getattr(column, part) == getattr(other, part)
            for part in ("offsets", "nulls"):
                mine, its = getattr(column, part), getattr(other, part)
                assert (mine is None) == (its is None) and (mine is None or mine.tolist() == its.tolist())


def test_of_many_columns_fewer_rows_are_decoded_at_once(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = sample_segments(listed_segments(lab.segments, "lineitem"), (), 1)
    what = decoded_segments.decoding(settings_with(window_rows_per_table=1 << 20), BUILT_IN)
    columns = ["l_suppkey", "l_quantity"]
    whole = decoded_segments.decode_segment(sample, columns, what)
    assert whole.has_all_values
    monkeypatch.setattr(decoded_segments, "_MAX_READ_VALUES", 2 * whole.window.rows)
    monkeypatch.setattr(decoded_segments, "_LEAST_READ_ROWS", 1)
    assert what.key(sample, columns) != what.key(sample, columns[:1])
    half = decoded_segments.decode_segment(sample, columns, what)
    assert half.window.rows == 1 << 16 < whole.window.rows
    assert not half.has_all_values
    assert decoded_segments.decode_segment(sample, columns[:1], what).has_all_values
