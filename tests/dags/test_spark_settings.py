"""Sources and precedence of a job's Spark settings; secrets stay off its command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from job_context import context_of
from noted_submit import Submitted, noted_submit, submitted
from starskip.errors import ConfigError
from starskip.night.configuration.night_from_config import NightArguments, night_from_config, spark_settings

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]

Submit = Callable[..., Submitted]


@pytest.fixture
def submit(nightly: Any, configured_job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Submit score_votes to a program that notes its command line."""
    from airflow.sdk import BaseHook

    programs = noted_submit(tmp_path, tmp_path / "a")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def run(extra: Mapping[str, Any], config: str = "") -> Submitted:
        path = tmp_path / "night.yaml"
        path.write_text(
            "store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}\n"
            f"settings: {{scale: {{local_queries: 0}}}}\n{config}"
        )
        connection = {
            "conn_type": "spark",
            "host": "local[2]",
            "extra": {"spark-binary": "spark3-submit", **extra},
        }
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        assert BaseHook.get_connection("spark_default").host == "local[2]"
        job = configured_job(path, "score_votes")
        job.execute(context_of(nightly))
        return submitted(tmp_path)

    return run


def test_memory_and_result_size_are_sparks_own_where_nobody_says_them(submit: Submit) -> None:
    found = submit({})
    assert "--driver-memory" not in found.words
    assert not any(name.startswith(("spark.driver.m", "spark.executor.m")) for name in found.conf)
    assert found.properties is None
    assert found.conf["spark.ui.enabled"] == "false"


def test_the_night_s_configuration_wins_over_the_connection_and_that_over_our_default(submit: Submit) -> None:
    extra = {"spark.driver.memory": "2g", "spark.driver.maxResultSize": "2g", "spark.ui.enabled": True}
    config = (
        "spark: {conf: {spark.driver.memory: 5g, spark.sql.shuffle.partitions: 7, spark.speculation: true}}\n"
    )
    found = submit(extra, config)
    wanted = {
        "spark.driver.memory": "5g",
        "spark.driver.maxResultSize": "2g",
        "spark.ui.enabled": "true",
        "spark.sql.shuffle.partitions": "7",
        "spark.speculation": "true",
        "spark.log.level": "WARN",
    }
    assert wanted.items() <= found.conf.items()
    assert len([word for word in found.words if word.startswith("spark.driver.memory=")]) == 1


def test_secrets_stay_off_the_command_line_and_out_of_the_log(
    submit: Submit, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    extra = {"spark.hadoop.fs.s3a.secret.key": "hush one: \\ #", "spark.driver.memory": "2g"}
    config = (
        "spark:\n  conf:\n"
        "    spark.hadoop.fs.s3a.access.key: hush two\n    spark.ssl.keyPassword: hush three\n"
        "    spark.driver.extraJavaOptions: -Dhttp.proxyPassword=hush4\n"
        "    spark.jars.repositories: https://me:hush5@repository\n"
    )
    found = submit(extra, config)
    said = capfd.readouterr()
    assert "hush" not in " ".join(found.words) + said.out + said.err + caplog.text
    assert found.mode == "600\n"
    assert found.properties is not None
    assert "spark.hadoop.fs.s3a.secret.key=hush one\\: \\\\ \\#" in found.properties
    assert found.properties.count("hush") == 5
    assert found.conf["spark.driver.memory"] == "2g"
    assert not any(Path(word).exists() for word in found.words if word.endswith("spark.conf"))


def test_what_spark_defaults_says_still_counts_beside_a_secret(
    submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.eventLog.dir file:/events")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = submit({"spark.authenticate.secret": "hush"})
    assert found.properties == "spark.eventLog.dir file:/events\nspark.authenticate.secret=hush\n"


def test_a_night_without_a_log_submits_no_job(
    nightly: Any, configured_job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.sdk.exceptions import AirflowFailException

    sample = CHECKOUT / "include" / "sample"
    (tmp_path / "night.yaml").write_text(
        "store: {artefacts: a}\n"
        f"sources: {{segments_root: {sample}/segments, log_paths: {sample}/logs/broker-2026-11-18.log.gz}}\n"
    )
    monkeypatch.setattr(SparkSubmitOperator, "execute", lambda *_: pytest.fail("a job was submitted"))
    with pytest.raises(AirflowFailException, match="no log of 2026-11-20: 1 log files hold no record"):
        configured_job(tmp_path / "night.yaml", "collect_segment_metadata").execute(context_of(nightly))


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ("{driver.memory: 4g}", "'driver.memory' is no setting of Spark"),
        ("{spark.driver.memory: [hush]}", "spark.driver.memory takes a text"),
        ("{spark.master: yarn}", "spark.master is given by the Airflow connection"),
        ("{1: 2}", "1 is no setting of Spark"),
        ("hush", "spark.conf must map names to values"),
        ("{'spark.x y': hush}", "is no setting of Spark"),
    ],
)
def test_a_setting_that_is_none_is_refused_without_its_value(tmp_path: Path, conf: str, said: str) -> None:
    path = tmp_path / "night.yaml"
    path.write_text(
        f"store: {{artefacts: a}}\nsources: {{log_paths: [l], segments_root: s}}\nspark: {{conf: {conf}}}\n"
    )
    at = datetime(2026, 11, 21, tzinfo=UTC)
    for read in (
        lambda: spark_settings(path),
        lambda: night_from_config(path, NightArguments(at.date(), "test", at), {}),
    ):
        with pytest.raises(ConfigError, match=r"night\.yaml: spark\.conf") as raised:
            read()
        assert said in str(raised.value)
        assert "hush" not in str(raised.value)
