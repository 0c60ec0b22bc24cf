"""Submit a stage by each provider's own operator; tests/dags/test_submitters.py runs this where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from noted_submit import DONE
from starskip.errors import BAD_INPUT
from starskip.night.job_receipt import read_receipt
from submitter_lab import Lab

pytest_plugins = ["submitter_lab"]

CONF = {"spark.executor.memory": "4g"}
NO_TABLE = replace(DONE, exit_code=BAD_INPUT, counts={}, warnings=(), problem="unknown table nation")
KINDS = ("livy", "aws", "google_cloud_platform", "databricks", "kubernetes")


def parts(kind: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Return file, arguments, settings, environment and files of what was sent, whatever the service."""

    def named(prefix: str, conf: dict[str, str]) -> dict[str, str]:
        return {name.removeprefix(prefix): v for name, v in conf.items() if name.startswith(prefix)}

    match kind:
        case "livy":
            conf = sent["conf"]
            environment = named("spark.yarn.appMasterEnv.", conf)
            assert environment == named("spark.kubernetes.driverEnv.", conf)
            return {
                "file": sent["file"],
                "arguments": sent["args"],
                "conf": conf,
                "environment": environment,
                "files": sent["pyFiles"],
            }
        case "aws":
            spark = sent["jobDriver"]["sparkSubmit"]
            (classified,) = sent["configurationOverrides"]["applicationConfiguration"]
            conf = classified["properties"]
            assert conf["spark.archives"] == "s3://b/env.tar.gz#environment"
            environment = named("spark.emr-serverless.driverEnv.", conf)
            files = conf["spark.submit.pyFiles"].split(",")
            return {
                "file": spark["entryPoint"],
                "arguments": spark["entryPointArguments"],
                "conf": conf,
                "environment": environment,
                "files": files,
            }
        case "google_cloud_platform":
            batch = sent["batch"]
            conf = batch["runtime_config"]["properties"]
            environment = named("spark.dataproc.driverEnv.", conf)
            python = batch["pyspark_batch"]
            return {
                "file": python["main_python_file_uri"],
                "arguments": python["args"],
                "conf": conf,
                "environment": environment,
                "files": python["python_file_uris"],
            }
        case "databricks":
            python, cluster = sent["spark_python_task"], sent["new_cluster"]
            assert cluster["spark_env_vars"].pop("OURS") == "1" and cluster["spark_conf"]["spark.x"] == "1"
            return {
                "file": python["python_file"],
                "arguments": python["parameters"],
                "conf": cluster["spark_conf"],
                "environment": cluster["spark_env_vars"],
                "files": [each["whl"] for each in sent["libraries"]],
            }
        case _:
            spec = sent["spec"]
            environment = {each["name"]: each["value"] for each in spec["driver"]["env"]}
            assert environment.pop("A") == "1" and environment.pop("SPARK_APPLICATION_NAME")
            assert (spec["image"], spec["mode"], spec["type"]) == ("i", "cluster", "Python")
            return {
                "file": spec["mainApplicationFile"],
                "arguments": spec["arguments"],
                "conf": spec["sparkConf"],
                "environment": environment,
                "files": spec["deps"]["pyFiles"],
            }


@pytest.mark.parametrize("kind", KINDS)
def test_the_operator_hands_over_the_job(lab: Lab, kind: str) -> None:
    lab.connect(kind)
    assert lab.run() == DONE.counts
    (sent,) = lab.services.submitted
    found = parts(kind, sent)
    assert found["file"] in ("s3://b/run_stage.py", "local:///opt/run_stage.py")
    assert found["arguments"][0] == "score_votes"
    assert {"--run-date=2026-11-20", "--tables=orders"} <= set(found["arguments"])
    assert CONF.items() <= found["conf"].items()
    assert found["environment"] == {"STARSKIP_ADVICE__MAX_INDEXES": "3"}
    assert found["files"] == (["dbfs:/s.whl"] if kind == "databricks" else ["s3://b/s.zip", "s3://b/t.zip"])


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_fails_at_once_with_the_jobs_own_reason(lab: Lab, kind: str) -> None:
    lab.connect(kind)
    lab.receipt, lab.services.ends_well = NO_TABLE, False
    with pytest.raises(AirflowFailException, match=r"^unknown table nation$"):
        lab.run()


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_without_a_receipt_failed_whatever_the_service_says(lab: Lab, kind: str) -> None:
    lab.connect(kind)
    lab.receipt = None
    with pytest.raises(AirflowFailException, match="left no receipt in"):
        lab.run()
    lab.services.ends_well = False
    with pytest.raises(AirflowException, match=r"there is no receipt in .*own log says more") as raised:
        lab.run()
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("kind", ["livy", "databricks", "kubernetes"])
def test_a_try_that_takes_up_a_job_finds_the_receipt_of_that_job(
    lab: Lab, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is gone while the job runs; the job ends meanwhile."""
    lab.connect(kind)

    class WorkerGone(BaseException):
        pass

    def gone(*_: Any, **__: Any) -> None:
        raise WorkerGone

    with monkeypatch.context() as patch, pytest.raises(WorkerGone):
        patch.setattr("starskip.airflow.spark_stage_operator.read_receipt", gone)
        lab.run()
    assert lab.run() == DONE.counts
    assert len(lab.services.submitted) == 1
    # Somebody clears the task: what it did has ended, and it is to run again.
    if kind != "kubernetes":
        assert lab.run() == DONE.counts
        assert len(lab.services.submitted) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_setting_that_may_be_secret_is_refused(
    lab: Lab, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lab.connect(kind, **{"spark.hadoop.fs.s3a.secret.key": "hush"})
    with pytest.raises(AirflowFailException, match="leave it out, and let the job use") as raised:
        lab.run()
    said = capfd.readouterr()
    assert "hush" not in str(raised.value) + said.out + said.err
    assert lab.services.submitted == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "job_file") for kind in KINDS),
        ("aws", "application_id"),
        ("aws", "execution_role_arn"),
        ("google_cloud_platform", "region"),
        ("databricks", "new_cluster"),
        ("kubernetes", "namespace"),
        ("kubernetes", "spark_application"),
    ],
)
def test_a_missing_field_is_named_with_an_example(lab: Lab, kind: str, name: str) -> None:
    lab.connect(kind, **{name: None})
    with pytest.raises(
        AirflowFailException, match=rf'spark_default, of type {kind}, needs .*{name}.*such as {{"'
    ):
        lab.run()


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_is_told_to_end_cancels_its_job(
    lab: Lab, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.connect(kind)
    # The moment before the receipt is looked for stands for any at which the job is there.
    seen = []

    def killed(*given: Any) -> Any:
        assert lab.task is not None
        lab.task.on_kill()
        seen.append(list(lab.services.cancelled))
        return read_receipt(*given)

    monkeypatch.setattr("starskip.airflow.spark_stage_operator.read_receipt", killed)
    lab.run()
    assert seen[0]


@pytest.mark.parametrize(
    ("kind", "other", "words"),
    [
        ("aws", {"application_id": None}, "needs a text application_id"),
        ("aws", {"execution_role_arn": None}, "needs a text execution_role_arn"),
        ("google_cloud_platform", {"region": None}, "needs a text region"),
        ("databricks", {"new_cluster": None}, "needs an object new_cluster"),
        ("kubernetes", {"namespace": None}, "needs a text namespace"),
        ("livy", {"job_file": None}, "needs a text job_file"),
        ("livy", {"spark.hadoop.fs.s3a.secret.key": "hush"}, "secret.key may be secret"),
        ("spark", {"deploy-mode": "cluster"}, "files of this machine do not reach a driver"),
        *((kind, {}, "") for kind in (*KINDS, "spark")),
    ],
)
def test_a_doctor_tells_what_the_first_job_of_a_night_would_fail_with(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, kind: str, other: dict[str, Any], words: str
) -> None:
    from starskip.airflow.check_airflow import check_connections

    monkeypatch.setattr("starskip.airflow.check_airflow._is_database_here", lambda: True)
    lab.connect(kind, **other)
    (verdict, said), *_ = check_connections({})
    assert verdict == ("failed" if words else "ok")
    assert words in said and "hush" not in said
    assert lab.services.submitted == []


def test_a_doctor_reads_the_settings_of_spark_of_the_nights_configuration(lab: Lab) -> None:
    from starskip.airflow.check_airflow import check_connections

    lab.connect("livy")
    (verdict, said), *_ = check_connections({}, spark_settings={"spark.ssl.keyPassword": "hush"})
    assert verdict == "failed" and "spark.ssl.keyPassword may be secret" in said
