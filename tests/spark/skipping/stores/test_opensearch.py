"""Skipping by metadata in a real OpenSearch: the law, the commands, a server that does not answer.

STARSKIP_OPENSEARCH_CASES is how many predicates in all, STARSKIP_SKIPPING_SEED where Hypothesis begins.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import time
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner
from law_cases import law_cases
from pyspark.sql import SparkSession
from running_opensearch import RunningOpenSearch
from skipping_on_spark.data_set import FORMATS
from skipping_on_spark.drawn_examples import law
from skipping_tables import aged, settings_of
from starskip.cli.main import main
from starskip.spark import skipping
from starskip_opensearch import evaluation, opensearch_client

CASES = law_cases("STARSKIP_OPENSEARCH_CASES", 60)
SEED = int(os.environ.get("STARSKIP_SKIPPING_SEED", random.SystemRandom().randrange(1 << 32)))
OF_AN_EXAMPLE = max(15, min(100, CASES // 40))
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900 + CASES)]
_ROOT = "starskip.metadata.root"


@pytest.fixture
def root(opensearch: RunningOpenSearch, monkeypatch: pytest.MonkeyPatch) -> str:
    """The root of this test's metadata; a busy machine takes longer than a plan waits for."""
    monkeypatch.setattr(opensearch_client, "_SOON_S", 30.0)
    return opensearch.url(f"t{uuid4().hex[:8]}")


@pytest.mark.parametrize("file_format", FORMATS[:2] if CASES < 1_000 else FORMATS)
def test_no_row_is_missed(spark: SparkSession, tmp_path: Path, root: str, file_format: str) -> None:
    print(f"STARSKIP_SKIPPING_SEED={SEED}")
    cases = CASES // (2 if CASES < 1_000 else len(FORMATS))
    asked = _count_queries()
    with settings_of(spark, {_ROOT: root}):
        seen = law(spark, tmp_path, cases, file_format, SEED, of_an_example=OF_AN_EXAMPLE)
    print(
        f"{file_format}: {seen.cases} predicates with {seen.rows} rows, {seen.skipped} of {seen.files} files "
        f"skipped, by {asked[0]} queries of OpenSearch"
    )
    assert seen.skipped > seen.files // 20
    # Few cases are of two tables, whose indexes may be read whole for most of them.
    assert asked[0] > (0 if CASES < 1_000 else seen.cases // 5)


def _count_queries() -> list[int]:
    counts = [0]
    right = evaluation.matching_rows

    def counted(*arguments: object) -> None:
        counts[0] += 1
        right(*arguments)  # type: ignore[arg-type]

    patch = pytest.MonkeyPatch()
    patch.setattr(evaluation, "matching_rows", counted)
    return counts


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    folder = tmp_path / "t"
    rows = spark.range(60).selectExpr("id", "cast(id % 9 AS string) AS s")
    rows.repartitionByRange(3, "id").write.parquet(str(folder))
    aged(folder)
    return str(folder)


def test_the_commands(spark: SparkSession, table: str, root: str) -> None:
    def run(command: str, *arguments: str) -> str:
        found = CliRunner().invoke(main, ["skipping", command, table, *arguments, "--metadata", root])
        assert found.exit_code == 0, found.output
        return found.output

    indexes = ["--index", "minmax:id", "--index", "valuelist:s", "--index", "bloom:s"]
    assert f"in {root}/t-" in run("create", *indexes)
    assert run("refresh").startswith("version 1: 0 files read, 3 unchanged")
    assert f"{root}/t-" in run("describe") and json.loads(run("describe", "--format", "json"))["rows"] == 60
    assert run("delete", "--index", "valuelist:s") == "version 2: valuelist:s deleted\n"
    assert run("restore") == "version 3: all indexes restored\n"
    assert run("refresh", "--full").startswith("version 4: 3 files read")
    assert run("optimize") == "nothing to optimize: it is one piece already\n"
    assert "removed 0 files" not in run("vacuum", "--grace-hours", "0")
    try:
        explained = json.loads(run("explain", "WHERE id = 3 AND s IN ('3', '7')", "--format", "json"))
        assert (explained["files_total"], explained["files_read"]) == (3, 1)
        assert explained["skipped_by"]["minmax:id"] == 2
    finally:
        skipping.disable(spark)
    assert not Path(table, "_starskip").exists()


def test_a_server_that_does_not_answer(
    spark: SparkSession,
    table: str,
    opensearch: RunningOpenSearch,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plain query runs, with one warning; the server is waited for once, for less than two seconds."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(opensearch_client, "_ASIDE_S", 600.0)
    with settings_of(spark, {_ROOT: opensearch.url("paused")}):
        skipping.create(spark, table, ["minmax:id"])
        skipping.enable(spark)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(opensearch_client, "_SOON_S", 30.0)
                frame = spark.read.parquet(table).where("id = 3")
                assert len(frame.inputFiles()) == 1
            time.sleep(1.1)  # longer than an answer is remembered
            opensearch.pause()
            whole = spark.read.parquet(table).where("id = 5")
            assert len(whole.inputFiles()) == 3
            assert [row.id for row in whole.collect()] == [5]
            assert [row.id for row in spark.read.parquet(table).where("id = 7").collect()] == [7]
            assert len(opensearch_client._unreachable) == 1 and opensearch_client._SOON_S < 2
        finally:
            opensearch.go_on()
            opensearch_client._unreachable.clear()
            skipping.disable(spark)
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(told) == 1 and "is read whole" in told[0] and "does not answer" in told[0], told


@pytest.mark.parametrize("is_listening", [True, False])
def test_enabled_while_the_server_is_silent_or_gone(
    spark: SparkSession, table: str, caplog: pytest.LogCaptureFixture, is_listening: bool
) -> None:
    """The one warning names the table of the query, and enabling itself asks the server nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if is_listening:
            silent.listen()
        with settings_of(spark, {_ROOT: f"opensearch://127.0.0.1:{silent.getsockname()[1]}/t"}):
            skipping.enable(spark)
            assert not opensearch_client._unreachable
            try:
                for number in (5, 7):
                    rows = spark.read.parquet(table).where(f"id = {number}").collect()
                    assert [row.id for row in rows] == [number]
            finally:
                opensearch_client._unreachable.clear()
                skipping.disable(spark)
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(told) == 1 and f"{Path(table).name}, which is read whole" in told[0], told
