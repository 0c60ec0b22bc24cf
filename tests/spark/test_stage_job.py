"""Exit code and last line of a job, for Airflow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from starskip.night.job_receipt import read_receipt
from starskip.storage.local_storage import LocalStorage

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def jobs(folder: Path) -> subprocess.CompletedProcess[str]:
    config = folder / "night.yaml"
    config.write_text(
        "store: {artefacts: artefacts}\nsources: {log_paths: [logs], segments_root: segments}\n"
    )
    options = "--master local[2] --driver-memory 1g --conf spark.driver.maxResultSize=16m"
    environment = {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": f"{options} --conf spark.ui.enabled=false pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    script = Path(__file__).parent / "failing_stages.py"
    return subprocess.run(
        [sys.executable, script, config], env=environment, capture_output=True, text=True, timeout=300
    )


def test_a_stage_that_is_done_prints_its_counts_as_json_and_its_warnings(
    jobs: subprocess.CompletedProcess[str],
) -> None:
    assert '{"stage": "fine", "run_date": "2026-11-20", "rows": 0}' in jobs.stdout.splitlines()
    assert "fine: warning: a warning" in jobs.stderr.splitlines()
    assert "fine left with 0" in jobs.stdout


def test_each_job_leaves_a_receipt_with_the_memory_of_its_python_and_its_java(
    jobs: subprocess.CompletedProcess[str], folder: Path
) -> None:
    storage = LocalStorage(folder / "artefacts", None)
    exit_codes = {"fine": 0, "badinput": 3, "noanswer": 1, "toomuch": 3, "abug": 1}
    for token, exit_code in exit_codes.items():
        receipt = read_receipt(storage, "2026-11-20", token)
        assert receipt is not None, token
        assert (receipt.exit_code, receipt.engine) == (exit_code, "spark")
        assert 30e6 < receipt.peak_memory_bytes < 2e9
        assert receipt.jvm_peak_memory_bytes is not None and 100e6 < receipt.jvm_peak_memory_bytes < 4e9
        if token == "badinput":
            assert receipt.problem == "part-5.tar.gz: is damaged; copy it again"


def test_an_error_of_ours_on_an_executor_is_one_line_and_exit_code_3(
    jobs: subprocess.CompletedProcess[str],
) -> None:
    assert "bad_input left with 3" in jobs.stdout
    assert "bad_input: part-5.tar.gz: is damaged; copy it again" in jobs.stderr.splitlines()


def test_a_store_that_does_not_answer_is_one_line_and_may_be_tried_again(
    jobs: subprocess.CompletedProcess[str],
) -> None:
    assert "no_answer left with 1" in jobs.stdout
    assert "no_answer: s3://night/x: the store does not answer in time" in jobs.stderr.splitlines()


def test_a_result_larger_than_the_driver_takes_is_a_cap_and_not_a_crash(
    jobs: subprocess.CompletedProcess[str],
) -> None:
    assert "too_much left with 3" in jobs.stdout
    (line,) = [line for line in jobs.stderr.splitlines() if line.startswith("too_much: ")]
    assert "spark.driver.maxResultSize" in line


def test_a_run_date_that_is_no_date_is_bad_input(jobs: subprocess.CompletedProcess[str]) -> None:
    assert "no date left with 3" in jobs.stdout
    assert "fine: --run-date 'yesterday' is not a date such as 2026-11-18" in jobs.stderr.splitlines()


def test_a_bug_keeps_its_stack_and_is_no_bad_input(jobs: subprocess.CompletedProcess[str]) -> None:
    assert jobs.returncode == 1
    assert "nobody foresaw this" in jobs.stderr
    assert "Traceback" in jobs.stderr
