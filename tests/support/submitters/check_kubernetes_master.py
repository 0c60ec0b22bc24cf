"""Submit a stage by spark-submit to Kubernetes, whose provider only this environment has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from noted_submit import DONE, Submitted, noted_submit, submitted
from submitter_lab import Lab

pytest_plugins = ["submitter_lab"]

Submit = Callable[..., Submitted]


@pytest.fixture
def on_kubernetes(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Run the stage by a spark-submit that notes what it is told, with Kubernetes as its master."""

    def submit(**extra: Any) -> Submitted:
        noted_submit(tmp_path, tmp_path / "a")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        lab.connect("spark", **extra)
        assert lab.run() == DONE.counts
        return submitted(tmp_path)

    return submit


@pytest.mark.parametrize("extra", [{}, {"deploy-mode": "client"}])
def test_a_driver_of_kubernetes_in_client_mode_has_the_settings_of_its_run(
    on_kubernetes: Submit, extra: dict[str, Any]
) -> None:
    found = on_kubernetes(**extra)
    assert found.environment["STARSKIP_ADVICE__MAX_INDEXES"] == "3"
    assert "--given=advice.max_indexes" in found.words
    assert "STARSKIP_ADVICE__MAX_INDEXES" not in os.environ
    # Executors in pods get the package from the driver.
    assert found.words[found.words.index("--py-files") + 1].endswith("starskip.zip")


IN_IMAGE = {"deploy-mode": "cluster", "job_file": "local:///opt/run_stage.py"}


@pytest.mark.parametrize("other", [{}, {"spark.kubernetes.file.upload.path": "s3a://b/up"}])
def test_with_the_file_of_an_image_nothing_of_this_machine_is_sent(
    on_kubernetes: Submit, other: dict[str, str]
) -> None:
    found = on_kubernetes(**IN_IMAGE, **other)
    assert found.words[found.words.index("local:///opt/run_stage.py") + 1] == "score_votes"
    assert "--py-files" not in found.words
    assert found.conf["spark.kubernetes.driverEnv.STARSKIP_ADVICE__MAX_INDEXES"] == "3"


def test_with_a_place_to_upload_to_the_package_is_sent(on_kubernetes: Submit) -> None:
    found = on_kubernetes(**{"deploy-mode": "cluster", "spark.kubernetes.file.upload.path": "s3a://b/up"})
    assert found.words[found.words.index("--py-files") + 1].endswith("starskip.zip")


@pytest.mark.parametrize(
    "extra",
    [
        {"deploy-mode": "cluster"},
        {"deploy-mode": "cluster", "job_file": "s3a://b/run_stage.py"},
        {**IN_IMAGE, "py_files": "/opt/mine.zip"},
    ],
)
def test_files_of_this_machine_for_a_pod_without_a_place_to_upload_to_are_refused(
    on_kubernetes: Submit, tmp_path: Path, extra: dict[str, str]
) -> None:
    with pytest.raises(AirflowFailException, match="files of this machine do not reach a driver"):
        on_kubernetes(**extra)
    assert submitted(tmp_path).words == []
