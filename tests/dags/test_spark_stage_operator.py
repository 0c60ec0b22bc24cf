"""The outcome of a task that submits a job: it is the receipt's, whatever spark-submit makes of the job."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from job_context import context_of
from noted_submit import DONE, noted_submit, submitted
from starskip.errors import BAD_INPUT, TRY_AGAIN
from starskip.night.job_receipt import RECEIPTS, JobReceipt

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

NO_TABLE = replace(DONE, exit_code=BAD_INPUT, counts={}, warnings=(), problem="unknown table nation")
NO_STORE = replace(NO_TABLE, exit_code=TRY_AGAIN, problem="s3://night: the store does not answer")

Stage = Callable[..., Any]


@pytest.fixture
def stage(nightly: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Run score_votes with a spark-submit that runs nothing; return what the task returned."""
    from starskip.airflow.connections import Connections
    from starskip.airflow.spark_stage_operator import SparkStageOperator

    (tmp_path / "night.yaml").write_text(
        "store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}\n"
        # So little work would need no job.
        "settings: {scale: {local_queries: 0}}\n"
    )
    connection: dict[str, Any] = {"conn_type": "spark", "host": "local[2]"}
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def run(
        receipt: JobReceipt | None = DONE,
        code: int = 0,
        host: str = "local[2]",
        extra: dict[str, Any] | None = None,
        **given: Any,
    ) -> Any:
        noted_submit(tmp_path, tmp_path / "a", receipt, code, given.pop("says", ""))
        connected = {**connection, "host": host, "extra": {"spark-binary": "spark3-submit", **(extra or {})}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connected))
        job = SparkStageOperator(
            task_id="score_votes",
            config=str(tmp_path / "night.yaml"),
            connections=Connections(),
            tables=given.pop("tables", None),
        )
        context = context_of(nightly)
        context["ti"] = SimpleNamespace(
            task_id="score_votes", xcom_push=lambda key, value: run.pushed.update({key: value})
        )
        context["params"].update(given)
        context["dag_run"].conf.update(given)
        return job.execute(context)

    run.pushed = {}  # type: ignore[attr-defined]
    return run


def test_the_counts_and_warnings_are_those_of_the_receipt(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    assert stage() == {"tables": 2, "rows": 1_234}
    said = capfd.readouterr().out
    assert "starskip | score_votes: warning: few queries" in said
    assert "starskip | score_votes: tables 2, rows 1,234" in said


def test_each_try_has_a_receipt_of_its_own(stage: Stage, tmp_path: Path) -> None:
    stage()
    stage()
    tokens = [word for word in submitted(tmp_path).words if word.startswith("--receipt=")]
    assert len(set(tokens)) == len(tokens) == 2
    left = {f"--receipt={each.stem}" for each in (tmp_path / "a" / RECEIPTS).rglob("*.json")}
    assert left == set(tokens)


# YARN and Kubernetes in cluster mode tell no exit code: spark-submit ends with 0 or 1 whatever the job's was.
@pytest.mark.parametrize("code", [0, 1, 3])
def test_bad_input_fails_at_once_with_the_jobs_own_reason_whatever_spark_submit_says(
    stage: Stage, code: int
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match=r"^unknown table nation$"):
        stage(NO_TABLE, code)
    assert stage.pushed == {"failure": "unknown table nation"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("code", [0, 1])
def test_what_may_pass_is_tried_again(stage: Stage, code: int) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    with pytest.raises(AirflowException, match="the store does not answer; the job's own log") as raised:
        stage(NO_STORE, code)
    assert not isinstance(raised.value, AirflowFailException)


def test_a_job_that_ended_well_is_no_failure_though_its_submitter_was_cut_off(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    assert stage(DONE, 1) == DONE.counts
    assert "the job has ended well by its receipt, although: Cannot execute" in capfd.readouterr().out


def test_success_without_a_receipt_is_a_failure_that_names_the_store(stage: Stage, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException) as raised:
        stage(None)
    assert f"left no receipt in {tmp_path / 'a'}: does its driver see another store?" in str(raised.value)


def test_failure_without_a_receipt_tells_what_the_provider_said(stage: Stage) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    with pytest.raises(AirflowException) as raised:
        stage(None, 137)
    assert not isinstance(raised.value, AirflowFailException)
    said = str(raised.value)
    assert said.startswith("Cannot execute: spark3-submit") and "Error code is: 137." in said
    assert said.endswith("the job's own log says more") and len(said) < 1000


def test_a_spark_submit_that_is_not_there_is_told_with_its_name(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowException

    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AirflowException, match="No such file or directory: 'spark3-submit'"):
        stage()


def test_text_of_a_receipt_forges_no_line_of_a_log(stage: Stage, capfd: pytest.CaptureFixture[str]) -> None:
    stage(replace(DONE, warnings=("a\nstarskip | forged",), counts={"ro\nws": 1}))
    assert "starskip | forged" not in capfd.readouterr().out.splitlines()


def test_what_is_no_receipt_is_told_by_its_place(stage: Stage, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowException

    (tmp_path / "receipt.json").write_text("[1]")
    with pytest.raises(AirflowException, match=r"[0-9a-f]{32}\.json is no receipt of a job"):
        stage(None)


def test_settings_travel_in_the_environment_of_the_job(stage: Stage, tmp_path: Path) -> None:
    stage(**{"advice.max_indexes": 3, "publish": "yes"})
    found = submitted(tmp_path)
    assert found.environment["STARSKIP_ADVICE__MAX_INDEXES"] == "3"
    assert "score_votes:2026-11-20" in found.words and "--run-date=2026-11-20" in found.words
    assert not any(word.startswith("--set") for word in found.words)
    assert "STARSKIP_ADVICE__MAX_INDEXES" not in os.environ


@pytest.mark.parametrize("tables", [["orders", "nation"], ("orders", "nation")])
def test_tables_of_the_task_stand_in_for_those_of_the_run(stage: Stage, tmp_path: Path, tables: Any) -> None:
    stage(tables=tables)
    assert "--tables=orders,nation" in submitted(tmp_path).words


@pytest.mark.parametrize(
    ("tables", "said"),
    [([], "was given no table, which must not mean all"), (["a,b"], "has a comma in its name")],
)
def test_tables_of_a_task_that_are_none_are_refused(stage: Stage, tables: Any, said: str) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match=said):
        stage(tables=tables)


def test_tables_may_come_from_a_mapped_group(dag_bag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk import DAG, task, task_group
    from starskip.airflow.connections import Connections
    from starskip.airflow.spark_stage_operator import SparkStageOperator

    with DAG("groups", schedule=None) as dag:

        @task
        def cut() -> list[list[str]]:
            return [["orders"], ["nation", "region"]]

        @task_group
        def group(tables: Any) -> None:
            SparkStageOperator(
                task_id="score_votes", config="night.yaml", connections=Connections(), tables=tables
            )

        group.expand(tables=cut())
    job = dag.task_dict["group.score_votes"]
    assert job.template_fields == ("report_source", "tables")
    assert job.upstream_task_ids == {"cut"}
    with monkeypatch.context() as patch:
        patch.setattr(type(job.tables), "resolve", lambda *_: ["nation", "region"])
        job.render_template_fields({})
    assert job.tables == ["nation", "region"]


def test_cluster_mode_of_a_standalone_cluster_is_refused_before_anything_starts(
    stage: Stage, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match="no Python job with deploy-mode cluster on a standalone"):
        stage(host="spark://master:7077", extra={"deploy-mode": "cluster"})
    assert submitted(tmp_path).words == []


def test_a_master_of_kubernetes_needs_the_provider_of_kubernetes(stage: Stage, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match=r"pip install \S+-cncf-kubernetes$"):
        stage(host="k8s://https://127.0.0.1:1")
    assert submitted(tmp_path).words == []


def test_a_type_that_is_not_known_is_refused_with_those_that_are(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, dag_bag: Any
) -> None:
    from starskip.airflow.submitters.submitter import PROVIDERS, submitter
    from starskip.airflow.submitters.target import Target
    from starskip.errors import ConfigError

    with pytest.raises(ConfigError, match="of type 'ssh', by which no job can be submitted: use one of") as e:
        submitter(Target("mine", "ssh", "host", None, {}, "score_votes"))
    assert str(e.value).endswith(", ".join(PROVIDERS))
    for kind in PROVIDERS.keys() - {"spark"}:
        with pytest.raises(ConfigError, match=f"pip install {PROVIDERS[kind]}$"):
            submitter(Target("mine", kind, "host", None, {}, "score_votes"))


def test_files_and_archives_of_the_connection_are_submitted(stage: Stage, tmp_path: Path) -> None:
    extra = {
        "py_files": "a.zip, b.zip",
        "archives": ["env.tar.gz#environment"],
        "job_file": "local:///run.py",
    }
    stage(host="yarn", extra={**extra, "deploy-mode": "cluster"})
    words = submitted(tmp_path).words
    assert words[words.index("--py-files") + 1] == "a.zip,b.zip"
    assert words[words.index("--archives") + 1] == "env.tar.gz#environment"
    assert words[words.index("local:///run.py") + 1] == "score_votes"
