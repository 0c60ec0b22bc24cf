"""A table on which a stage fails: the others are advised as ever, and it is named with the reason."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.cost import planned_votes
from starskip.advisor.families.star_tree import build_star_trees
from starskip.advisor.families.star_tree.chosen_trees import ChosenTree
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.run.table_by_table import failure_words, is_of_one_table, table_by_table
from starskip.advisor.selection.past_nights import past_nights
from starskip.errors import DamagedFile, StarskipError, StorageError, StorageOutage
from starskip.lake.lake_table import LakeTable
from starskip.night import fit_latency_model, score_votes, select_indexes
from starskip.night.quality.check_stage import check_stage
from starskip.reports import write_report
from starskip.reports.report_lists import night_rows
from starskip.star_tree.function_column_pair import FunctionColumnPair
from starskip.star_tree.star_tree_config import StarTreeConfig

pytestmark = [pytest.mark.quality, pytest.mark.filterwarnings("default")]

UNSOLVED = "the index selection could not be solved: time limit"
PLACES: Mapping[str, tuple[Any, str, str]] = {
    "select_indexes": (select_indexes, "advice_and_votes", "recommendations"),
    "score_votes": (planned_votes, "leapfrog_votes", "votes"),
    "write_report": (write_report, "table_evidence", "reports"),
}


@pytest.fixture
def lab_before(
    make_lab: Callable[..., Any], sound_before: Callable[[str], Path], tmp_path: Path
) -> Callable[[str], Any]:
    """Return a lab of its own in which all stages before a named one have run."""

    def copied(stage: str) -> Any:
        return make_lab(shutil.copytree(sound_before(stage), tmp_path / "before"))

    return copied


def failing(module: Any, name: str, error: Exception, patch: pytest.MonkeyPatch) -> None:
    """Have a function of the stage fail on lineitem."""
    real = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        # A question names its table, and knows where the facts of all tables lie.
        if "lineitem" in str(getattr(arguments[0], "table", arguments[:3]))[:3_000_000]:
            raise error
        return real(*arguments, **options)

    patch.setattr(module, name, call)


@pytest.mark.parametrize(
    "stage",
    [
        "score_votes",
        *(pytest.param(each, marks=pytest.mark.slow) for each in PLACES if each != "score_votes"),
    ],
)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(lambda: StarskipError(UNSOLVED), UNSOLVED, marks=pytest.mark.slow),
        (lambda: ZeroDivisionError("'john@example.com'"), "a fault of Starskip: ZeroDivisionError in "),
    ],
)
def test_the_others_are_advised_and_the_table_is_named_with_its_reason(
    stage: str,
    error: Callable[[], Exception],
    said: str,
    lab_before: Callable[[str], Any],
    sound: Mapping[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, name, artefact = PLACES[stage]
    lab = lab_before(stage)
    failing(module, name, error(), monkeypatch)
    night = lab.night()
    for each in STAGE_NAMES[STAGE_NAMES.index(stage) :]:
        lab.run(night, [each])
        failed = [verdict.table for verdict in check_stage(night, each) if not verdict.passed]
        assert failed == (["lineitem"] if each == stage else []), each
    assert f"table lineitem is left out, its last advice stands: {stage} failed: {said}" in lab.warnings
    assert "john@" not in lab.warnings
    assert lab.published("recommendations")["airlineStats"] == sound["airlineStats"]
    rows = {row.table: row for row in night_rows(night, limit=9).rows}
    assert rows["airlineStats"].summary is not None
    assert rows["lineitem"].summary is None
    (check,) = rows["lineitem"].stopped
    assert check.stage == stage
    assert said in check.observed
    assert artefact in check.check


def test_without_gates_the_stages_behind_leave_it_out_too(
    lab: Any, sound: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(select_indexes, "advice_and_votes", StarskipError(UNSOLVED), monkeypatch)
    lab.run()
    assert set(lab.published("reports")) == {"airlineStats"}
    assert lab.published("recommendations")["airlineStats"] == sound["airlineStats"]


def test_a_later_night_passes_over_the_night_that_failed(
    lab_before: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = lab_before("select_indexes")
    with monkeypatch.context() as patch:
        failing(select_indexes, "advice_and_votes", StarskipError(UNSOLVED), patch)
        night = lab.run(stages=["select_indexes"])
    later = replace(night, run_date=night.run_date + timedelta(days=1))
    found = past_nights(later, "lineitem")
    assert (found.nights, found.chosen, found.warnings) == ([], frozenset(), ())
    assert len(past_nights(later, "airlineStats").nights) == 1


def test_where_each_table_fails_each_says_why_and_no_stage_behind_works(
    lab_before: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(*_: Any, **__: Any) -> Any:
        raise StarskipError(UNSOLVED)

    monkeypatch.setattr(select_indexes, "advice_and_votes", call)
    lab = lab_before("select_indexes")
    lab.run(stages=STAGE_NAMES[STAGE_NAMES.index("select_indexes") :])
    for table in ("airlineStats", "lineitem"):
        assert f"table {table} is left out, its last advice stands: select_indexes failed: {UNSOLVED}" in (
            lab.warnings
        )
    assert set(lab.published("reports")) == set()


@pytest.mark.parametrize("module", [select_indexes, score_votes, fit_latency_model])
def test_a_store_that_does_not_answer_is_no_table_s_failure(
    module: Any, lab_before: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def call(*_: Any, **__: Any) -> Any:
        calls.append(1)
        raise StorageOutage("s3://night: the store does not answer", location="s3://night")

    names = {
        select_indexes: "advice_and_votes",
        score_votes: "planned_votes",
        fit_latency_model: "latency_reports",
    }
    monkeypatch.setattr(module, names[module], call)
    stage = module.__name__.rpartition(".")[2]
    with pytest.raises(StorageOutage):
        lab_before(stage).run(stages=[stage])
    assert len(calls) == 1


def test_a_fault_in_building_is_told_as_that(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    night = lab.run(lab.night(lake_tables={"lineitem": LakeTable(str(lab.root), {})}), STAGE_NAMES[:5])
    tree = ChosenTree(StarTreeConfig(("l_shipmode",), (FunctionColumnPair.parse("COUNT__*"),)))
    monkeypatch.setattr(build_star_trees, "chosen_trees", lambda *_, **__: [tree])
    monkeypatch.setattr(build_star_trees, "source_table", lambda *_, **__: 1 / 0)
    lab.run(night, STAGE_NAMES[5:])
    assert "table lineitem: star-tree not built: a fault of Starskip: ZeroDivisionError" in lab.warnings
    assert set(lab.published("reports")) == {"airlineStats", "lineitem"}


def of_spark(text: str) -> Exception:
    """An error as Spark tells it, whose class lies in its package."""
    return type("PythonException", (Exception,), {"__module__": "pyspark.errors"})(text)


ON_AN_EXECUTOR = (
    "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
    '  File "/x/starskip/cost/y.py", line 7, in votes\n    1 / 0\n'
    "ValueError: cannot read 'john@example.com'\n\n\tat org.apache.spark.api.python"
)


def test_a_damaged_file_is_one_table_s_and_a_store_that_fails_is_not() -> None:
    damaged = DamagedFile("queries/x.parquet: is damaged", location="queries/x.parquet")
    found = table_by_table(["a", "b"], lambda tables: fail(damaged) if "b" in tables else tables)
    assert (found.results, found.failures) == ([["a"]], {"b": str(damaged)})
    assert not is_of_one_table(StorageError("the store is full", location="/store"))


def test_a_fault_on_an_executor_is_one_table_s_and_a_lost_executor_is_not() -> None:
    fault, lost = of_spark(ON_AN_EXECUTOR), of_spark("Job aborted: executor 3 was lost")
    assert is_of_one_table(fault) and not is_of_one_table(lost)
    assert failure_words(fault) == "a fault of Starskip: ValueError: cannot read ?"
    found = table_by_table(["a", "b"], lambda tables: fail(fault) if "b" in tables else tables)
    assert (found.results, list(found.failures)) == ([["a"]], ["b"])
    with pytest.raises(Exception, match="was lost"):
        table_by_table(["a", "b"], lambda _: fail(lost))
    with pytest.raises(Exception, match="Traceback"):
        table_by_table(["a", "b"], lambda _: fail(fault))


def fail(error: Exception) -> Any:
    raise error
