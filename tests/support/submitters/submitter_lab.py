"""A night's task, whose job goes to a server that answers as any of the services does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cluster_services import Services, cluster_services
from noted_submit import DONE
from starskip.airflow.connections import Connections
from starskip.airflow.spark_stage_operator import SparkStageOperator
from starskip.night.job_receipt import JobReceipt, write_receipt
from starskip.storage.local_storage import LocalStorage

FILES = {"job_file": "s3://b/run_stage.py", "py_files": "s3://b/s.zip,s3://b/t.zip"}
CLUSTER = {
    "spark_version": "16.4.x-scala2.13",
    "spark_env_vars": {"OURS": "1"},
    "spark_conf": {"spark.x": "1"},
}
APPLICATION = {
    "spec": {"image": "i", "sparkVersion": "4.1.1", "driver": {"env": [{"name": "A", "value": "1"}]}}
}


class State(dict[str, Any]):
    """The state of a task that Airflow keeps from one try to the next."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


class Lab:
    """A night's store, a server of all services, and one task."""

    def __init__(self, folder: Path, services: Services, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.services, self.patch = folder, services, patch
        self.receipt: JobReceipt | None = DONE
        self.state = State()
        self.task: SparkStageOperator | None = None
        (folder / "night.yaml").write_text(
            "store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}\n"
            "settings: {scale: {local_queries: 0}}\n"
            "spark: {conf: {spark.executor.memory: 4g}}\n"
        )

    def ran(self, arguments: list[str]) -> None:
        """Leave the receipt that a job with these arguments leaves."""
        (token,) = [each.partition("=")[2] for each in arguments if each.startswith("--receipt=")]
        if self.receipt is not None:
            write_receipt(LocalStorage(self.folder / "a", None), "2026-11-20", token, self.receipt)

    def connect(self, kind: str, **other: Any) -> None:
        url = f"http://127.0.0.1:{self.services.port}"
        of_kind: dict[str, dict[str, Any]] = {
            "livy": {"host": "127.0.0.1", "port": self.services.port, "extra": FILES},
            "aws": {
                "login": "key",
                "password": "secret",
                "extra": {
                    **FILES,
                    "endpoint_url": url,
                    "region_name": "eu-central-1",
                    "application_id": "app",
                    "execution_role_arn": "arn:aws:iam::111122223333:role/starskip",
                    "archives": "s3://b/env.tar.gz#environment",
                },
            },
            "google_cloud_platform": {"extra": {**FILES, "project": "p", "region": "europe-west1"}},
            "databricks": {
                "host": "127.0.0.1",
                "port": self.services.port,
                "schema": "http",
                "password": "token",
                "extra": {**FILES, "py_files": "dbfs:/s.whl", "new_cluster": CLUSTER},
            },
            "spark": {"host": "k8s://https://127.0.0.1:1", "extra": {"spark-binary": "spark3-submit"}},
            "kubernetes": {
                "extra": {
                    **FILES,
                    "job_file": "local:///opt/run_stage.py",
                    "namespace": "spark",
                    "spark_application": APPLICATION,
                    "kube_config": json.dumps(_kube_config(url)),
                }
            },
        }
        connection = {"conn_type": kind, **of_kind[kind]}
        connection["extra"] = {**connection["extra"], **other}
        connection["extra"] = {
            name: value for name, value in connection["extra"].items() if value is not None
        }
        self.patch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))

    def run(self) -> Any:
        self.task = SparkStageOperator(
            task_id="score_votes", config=str(self.folder / "night.yaml"), connections=Connections()
        )
        at = datetime(2026, 11, 20, 2, tzinfo=UTC)
        run = SimpleNamespace(
            data_interval_start=at,
            data_interval_end=at.replace(day=21),
            run_after=at.replace(day=21),
            run_type="manual",
            run_id="manual",
            conf={"publish": "yes", "advice.max_indexes": 3},
        )
        ti = SimpleNamespace(
            task_id="score_votes",
            dag_id="nightly",
            run_id="manual",
            map_index=-1,
            try_number=1,
            stats_tags={},
            xcom_push=lambda *_, **__: None,
        )
        params = {"run_date": None, "tables": ["orders"], "publish": "yes", "advice.max_indexes": 3}
        context = {
            "dag_run": run,
            "params": params,
            "ti": ti,
            "task_instance": ti,
            "run_id": "manual",
            "dag": SimpleNamespace(dag_id="nightly"),
            "task_state_store": self.state,
        }
        return self.task.execute(context)


def _kube_config(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with cluster_services(lambda arguments: made.ran(arguments)) as services:
        made = Lab(tmp_path, services, monkeypatch)
        _dataproc(made)
        yield made


def _dataproc(lab: Lab) -> None:
    """Stand in for Dataproc at the network's edge: it speaks gRPC, with credentials of Google."""
    from airflow.providers.google.cloud.hooks.dataproc import DataprocHook

    def create_batch(self: Any, **given: Any) -> Any:
        lab.services.submit(given, given["batch"]["pyspark_batch"]["args"])
        named = f"projects/p/locations/l/batches/{given['batch_id']}"
        return SimpleNamespace(
            metadata=SimpleNamespace(batch=named), cancel=lambda: lab.services.cancelled.append(named)
        )

    def wait_for_batch(self: Any, **given: Any) -> Any:
        from google.cloud.dataproc_v1 import Batch

        ended = Batch.State.SUCCEEDED if lab.services.ends_well else Batch.State.FAILED
        return Batch(state=ended, state_message="as it was")

    lab.patch.setattr(DataprocHook, "create_batch", create_batch)
    lab.patch.setattr(DataprocHook, "wait_for_batch", wait_for_batch)
