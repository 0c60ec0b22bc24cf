"""The stages: each has its function, gate and job file, in an order that works."""

from __future__ import annotations

from pathlib import Path

import pytest
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.stages import STAGE_NAMES, STAGES, Stage, stage_named
from starskip.night.stage_functions import stage_function, stage_gate
from starskip.storage.artefact_store import SCHEMAS

JOBS = Path(__file__).parents[3] / "spark_jobs"
WITHOUT_ROWS = {"latency_model", "questions", "reports"}


@pytest.mark.parametrize("stage", STAGES, ids=STAGE_NAMES)
def test_each_stage_has_its_function_and_its_gate(stage: Stage) -> None:
    function = stage_function(stage.name)
    assert function.__name__ == stage.name
    assert (function.__doc__ or "").strip()
    gate = stage_gate(stage.name)
    # What is proved of a night is judged by the gates of families alone.
    assert gate is None if stage.name == "verify_indexes" else isinstance(gate, Gate)


def test_a_stage_that_there_is_not_has_no_function_and_no_gate() -> None:
    for of_stage in (stage_function, stage_gate):
        with pytest.raises(ValueError, match="there is no stage dig_wells"):
            of_stage("dig_wells")


@pytest.mark.parametrize("stage", STAGES, ids=STAGE_NAMES)
def test_each_stage_has_its_job_file(stage: Stage) -> None:
    job = (JOBS / f"{stage.name}.py").read_text()
    assert f"from {stage_function(stage.name).__module__} import {stage.name}\n" in job
    assert f"stage_job({stage.name})" in job


def test_no_job_file_is_without_a_stage() -> None:
    assert {path.stem for path in JOBS.glob("*.py")} == set(STAGE_NAMES)


def test_artefacts_have_one_maker_and_a_schema() -> None:
    made = [artefact for stage in STAGES for artefact in (stage.artefact, *stage.beside)]
    assert len(set(made)) == len(made)
    assert set(made) - SCHEMAS.keys() == WITHOUT_ROWS


def test_a_stage_is_made_of_what_an_earlier_one_has_published() -> None:
    there: set[str] = set()
    for stage in STAGES:
        assert not stage.made_of or stage.made_of in there, stage.name
        there |= {stage.artefact, *stage.beside}


def test_the_stages_that_build_and_prove_stop_no_report() -> None:
    names = {stage.name for stage in STAGES if not stage.stops_report}
    assert names == {
        "build_star_trees",
        "refresh_skipping_indexes",
        "refresh_secondary_indexes",
        "verify_indexes",
    }
    assert stage_named("write_report") is STAGES[-1]
