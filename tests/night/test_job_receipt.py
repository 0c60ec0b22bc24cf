"""Receipts of jobs in the store: written once, read back, told apart from what is none, removed when old."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from noted_submit import DONE, receipt_text
from settings_with import settings_with
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import BAD_INPUT, TRY_AGAIN, DamagedFile, SourceError, StorageError, StorageOutage
from starskip.execution.engine import Engine
from starskip.execution.local_engine import LocalEngine
from starskip.night.expire_snapshots import expire_snapshots
from starskip.night.job_receipt import (
    RECEIPTS,
    JobReceipt,
    new_token,
    peak_memory_bytes,
    peak_memory_of,
    read_receipt,
    write_receipt,
)
from starskip.night.stage_with_receipt import RunningEngine, Stage, run_stage_with_receipt
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

NIGHT = "2026-11-20"


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "a", None)


def test_a_receipt_is_read_as_it_was_written(storage: LocalStorage) -> None:
    for receipt in (DONE, replace(DONE, jvm_peak_memory_bytes=None, tables=("a", "b"), exit_code=3)):
        token = new_token()
        assert read_receipt(storage, NIGHT, token) is None
        write_receipt(storage, NIGHT, token, receipt)
        assert read_receipt(storage, NIGHT, token) == receipt


def test_the_first_receipt_of_a_token_stays(storage: LocalStorage) -> None:
    for exit_code in (0, 1):
        write_receipt(storage, NIGHT, "token", replace(DONE, exit_code=exit_code))
    found = read_receipt(storage, NIGHT, "token")
    assert found is not None and found.exit_code == 0


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]
)
def test_what_is_no_receipt_is_told_by_its_place(storage: LocalStorage, content: str) -> None:
    storage.put_if_absent(f"{RECEIPTS}/{NIGHT}/token.json", content.encode("latin-1"))
    with pytest.raises(DamagedFile, match=rf"{RECEIPTS}/{NIGHT}/token\.json is no receipt of a job"):
        read_receipt(storage, NIGHT, "token")


@pytest.mark.parametrize(
    ("name", "value"),
    [("counts", 3), ("tables", None), ("seconds", "x"), ("started_at", 4), ("exit_code", [])],
)
def test_a_field_of_another_kind_makes_no_receipt(storage: LocalStorage, name: str, value: Any) -> None:
    text = receipt_text(DONE, **{name: value})
    storage.put_if_absent(f"{RECEIPTS}/{NIGHT}/token.json", text.encode())
    with pytest.raises(DamagedFile):
        read_receipt(storage, NIGHT, "token")


@pytest.mark.parametrize("token", ["", "../../x", "a/b", "A", "x" * 65])
def test_a_token_names_no_other_object(storage: LocalStorage, token: str) -> None:
    with pytest.raises(StorageError, match="is no token of a receipt"):
        write_receipt(storage, NIGHT, token, DONE)


def test_old_receipts_go_with_the_queries_of_their_night_and_new_ones_about_old_nights_stay(
    tmp_path: Path,
) -> None:
    store = ArtefactStore(LocalStorage(tmp_path, None))
    for night in ("2026-11-18", "2026-11-19", NIGHT):
        write_receipt(store.storage, night, "token", DONE)
    write_receipt(store.storage, "2026-11-18", "fresh", DONE)
    then = time.time() - 48 * 3600
    for path in tmp_path.rglob("token.json"):
        os.utime(path, (then, then))
    at = datetime.now(UTC)
    night = Night(at.date(), store, settings_with(query_days=2), at, "test")
    for removed in ((f"{RECEIPTS}/2026-11-18/token.json",), ()):
        tidied = expire_snapshots(night)
        assert tidied.vacuumed is not None and tidied.vacuumed.removed == removed
    assert store.artefacts() == ()


def test_peaks_of_memory_are_bytes() -> None:
    assert 10e6 < peak_memory_bytes() < 100e9
    of_this_process = peak_memory_of(os.getpid())
    assert of_this_process is not None and abs(of_this_process - peak_memory_bytes()) < 50e6
    assert peak_memory_of(None) is peak_memory_of(2**31 - 1) is None


@contextmanager
def local(night: Night) -> Iterator[RunningEngine]:
    yield RunningEngine(LocalEngine(), "local")


def fine(engine: Engine, night: Night) -> StageResult:
    """Do nothing and say so."""
    return StageResult({"rows": 7}, ("few rows",))


def bad(engine: Engine, night: Night) -> StageResult:
    """Find an input that no other try would find better."""
    raise SourceError("part.tar.gz: is damaged", source="part")


def silent(engine: Engine, night: Night) -> StageResult:
    """Find a store that does not answer."""
    raise StorageOutage("s3://x does not answer", location="s3://x")


def bug(engine: Engine, night: Night) -> StageResult:
    """Fail as nobody foresaw."""
    raise ZeroDivisionError("nobody foresaw\nthis\nTraceback")


def full(engine: Engine, night: Night) -> StageResult:
    """Find the disk full."""
    raise OSError(28, "No space left on device", "/data")


def told_to_end(engine: Engine, night: Night) -> StageResult:
    """End in the middle."""
    raise KeyboardInterrupt


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "night.yaml"
    path.write_text("store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}\n")
    return path


def run(stage: Stage, config: Path, *more: str) -> int:
    arguments = [f"--config={config}", f"--run-date={NIGHT}", "--run-id=r", "--receipt=token", *more]
    return run_stage_with_receipt(stage, local, arguments)


def left(storage: LocalStorage) -> JobReceipt:
    found = read_receipt(storage, NIGHT, "token")
    assert found is not None
    return found


def test_a_stage_that_is_done_leaves_its_counts_and_tells_them(
    config: Path, storage: LocalStorage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fine, config, "--tables=b,a") == 0
    receipt = left(storage)
    assert (receipt.exit_code, receipt.problem, receipt.counts, receipt.warnings) == (
        0,
        "",
        {"rows": 7},
        ("few rows",),
    )
    assert (receipt.stage, receipt.run_id, receipt.tables, receipt.engine) == (
        "fine",
        "r",
        ("a", "b"),
        "local",
    )
    assert 0 <= receipt.seconds < 60 and receipt.peak_memory_bytes > 10e6
    assert receipt.jvm_peak_memory_bytes is None
    said = capsys.readouterr()
    assert json.loads(said.out) == {"stage": "fine", "run_date": NIGHT, "rows": 7}
    assert said.err == "fine: warning: few rows\n"


@pytest.mark.parametrize(
    ("stage", "exit_code", "problem"),
    [
        (bad, BAD_INPUT, "part.tar.gz: is damaged"),
        (silent, TRY_AGAIN, "s3://x does not answer"),
        (full, TRY_AGAIN, "No space left on device"),
    ],
)
def test_a_failure_leaves_its_reason_and_whether_to_try_again(
    config: Path,
    storage: LocalStorage,
    capsys: pytest.CaptureFixture[str],
    stage: Stage,
    exit_code: int,
    problem: str,
) -> None:
    assert run(stage, config) == exit_code
    receipt = left(storage)
    assert receipt.exit_code == exit_code and problem in receipt.problem
    assert receipt.may_be_tried_again == (exit_code == TRY_AGAIN)
    assert f"{stage.__name__}: {receipt.problem}\n" == capsys.readouterr().err


def test_a_driver_that_the_settings_of_its_run_did_not_reach_fails_before_its_stage(
    config: Path, storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "--given=advice.max_indexes,building.build_indexes"
    monkeypatch.setenv("STARSKIP_ADVICE__MAX_INDEXES", "3")
    monkeypatch.delenv("STARSKIP_BUILDING__BUILD_INDEXES", raising=False)
    assert run(bug, config, given) == BAD_INPUT
    said = "did not reach the driver, whose environment has no STARSKIP_BUILDING__BUILD_INDEXES:"
    assert said in left(storage).problem


def test_a_failure_that_nobody_foresaw_leaves_a_receipt_and_its_stack(
    config: Path, storage: LocalStorage
) -> None:
    with pytest.raises(ZeroDivisionError):
        run(bug, config)
    receipt = left(storage)
    assert (receipt.exit_code, receipt.problem) == (TRY_AGAIN, "ZeroDivisionError: nobody foresaw this")


def test_a_job_that_is_told_to_end_leaves_none(config: Path, storage: LocalStorage) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(told_to_end, config)
    assert read_receipt(storage, NIGHT, "token") is None


def test_a_job_whose_receipt_cannot_be_written_has_failed(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise StorageOutage("a: does not answer", location="a")

    monkeypatch.setattr(LocalStorage, "put_if_absent", failing)
    assert run(fine, config) == TRY_AGAIN
    assert "fine: no receipt could be written: a: does not answer" in capsys.readouterr().err
    assert run(bad, config) == BAD_INPUT
    assert "part.tar.gz: is damaged; no receipt could be written" in capsys.readouterr().err


def test_a_receipt_of_an_experiment_lies_where_its_submitter_looks(
    config: Path, storage: LocalStorage
) -> None:
    assert run(fine, config, "--experiment") == 0
    assert left(storage).counts == {"rows": 7}


def test_without_a_token_nothing_is_left(config: Path, tmp_path: Path) -> None:
    arguments = [f"--config={config}", f"--run-date={NIGHT}"]
    assert run_stage_with_receipt(fine, local, arguments) == 0
    assert not (tmp_path / "a").exists()
