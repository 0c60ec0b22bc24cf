"""An index type of a user's own that fails is left out alone, with a warning that names it; others go on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.errors import StarskipError
from starskip.skipping import registry
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

Table = Callable[..., str]

MODULE = """
import numpy as np
import pyarrow as pa
from starskip.skipping.clause import Clause
from starskip.predicates.expression import Call, Literal
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import register

FAULTS = set()


class Never(Clause):
    def may_match(self, metadata):
        if "may_match" in FAULTS:
            raise ZeroDivisionError("of months")
        if "mask" in FAULTS:
            return [1, 2]
        return np.zeros(metadata.files, np.bool_)


@register
class Months(ColumnIndex):
    kind = "months"

    def __init__(self, columns, arguments=()):
        if "made" in FAULTS:
            raise LookupError("no calendar")
        super().__init__(columns, arguments)

    def check(self, data_types):
        if "check" in FAULTS:
            raise LookupError("no check")

    def aggregates(self, columns):
        if "aggregates" in FAULTS:
            raise KeyError("aggregates")
        if "unknown_function" in FAULTS:
            return {"least": f"no_such_function({columns[0]})"}
        if "fails_on_rows" in FAULTS:
            return {"least": f"min(raise_error('on rows of ' || {columns[0]}))"}
        return {"least": f"min(month({columns[0]}))"}

    def finish(self, collected):
        found = dict(super().finish(collected))
        if FINISH_FAILS:
            raise ValueError("finish of months")
        if TEXTS:
            found["least"] = found["least"].cast(pa.string())
        return found

    def label(self, node):
        if "label" in FAULTS:
            raise AttributeError("labels of months")
        match node:
            case Call("EqualTo", (Call("Month", _), Literal() as month)) if month.python == -1:
                return True if "no_clause" in FAULTS else Never()
        return None


FINISH_FAILS = False
TEXTS = False
"""


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The faults of a fresh module's index type, which the test may add to."""
    monkeypatch.setattr(registry, "_types", dict(registry._types))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "months_of_a_user.py").write_text(MODULE)
    registry.load_modules(["months_of_a_user"])
    yield sys.modules["months_of_a_user"].FAULTS
    sys.modules.pop("months_of_a_user")


def module() -> Any:
    return sys.modules["months_of_a_user"]


@pytest.fixture
def path(spark: SparkSession, faults: set[str], table_of: Table) -> str:
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "timestamp_seconds(id * 86400) AS ts")
    return table_of(frame, "minmax:id", "months:ts")


WHERE = "month(ts) = -1 AND id < 500"


@pytest.mark.parametrize("fault", ["label", "may_match", "mask", "no_clause"])
def test_at_a_query(
    skipping_on: SparkSession, path: str, faults: set[str], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = skipping_on.read.parquet(path)
    assert len(rows.where(WHERE).inputFiles()) == 0
    faults.add(fault)
    for _ in range(2):
        assert rows.where(WHERE).count() == 0
        (stats,) = skipping.last_query_stats(skipping_on)
        assert (stats["files_read"], stats["skipped_by"]) == (2, {"minmax:id": 2})
        assert len(stats["not_skipped_because"]) == 1
        assert stats["not_skipped_because"][0].startswith("months:ts is not used: ")
    assert len(rows.where("id < 250").inputFiles()) == 1
    (warning,) = [each for each in caplog.messages if "months:ts" in each]
    assert "is not used: " in warning and "minmax" not in warning


def test_a_function_whose_implication_is_nonsense(
    skipping_on: SparkSession, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    from starskip.skipping import user_functions

    skipping_on.udf.register("odd_months", lambda ts: True, "boolean")
    user_functions.map_function("odd_months", lambda node: "no expression")  # type: ignore[arg-type,return-value]
    try:
        rows = skipping_on.read.parquet(path).where("odd_months(ts) AND id < 500")
        assert len(rows.inputFiles()) == 2
    finally:
        del user_functions._by_name["udf:odd_months"]
    assert "odd_months" in caplog.text


@pytest.mark.parametrize("fault", ["made", "no_module"])
def test_when_it_is_loaded(
    skipping_on: SparkSession, path: str, faults: set[str], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    if fault == "no_module":
        del registry._types["months"]
    else:
        faults.add(fault)
    # What was opened before stays open for a while.
    skipping.enable(skipping_on)
    assert len(skipping_on.read.parquet(path).where(WHERE).inputFiles()) == 2
    (stats,) = skipping.explain(skipping_on.read.parquet(path).where(WHERE))
    assert stats["not_skipped_because"][0].startswith("months:ts is not used: ")
    assert "months:ts" in caplog.text
    more = skipping_on.range(2000, 2001).selectExpr("id", "timestamp_seconds(id) AS ts").coalesce(1)
    more.write.mode("append").parquet(path)
    aged(Path(path))
    done = skipping.refresh(skipping_on, path)
    assert (done.collected_files, done.indexes, [*done.failed_indexes]) == (1, ("minmax:id",), ["months:ts"])
    assert not done.in_full
    assert len(skipping_on.read.parquet(path).where("id = 2000").inputFiles()) == 1
    assert skipping.list_indexes(skipping_on, path) == ["minmax:id", "months:ts"]


def test_a_module_that_cannot_be_imported(
    spark: SparkSession, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken_of_a_user.py").write_text("1 / 0")
    try:
        skipping.enable(spark, modules=["broken_of_a_user", "months_of_a_user"])
        assert "module 'broken_of_a_user'" in caplog.text
        assert skipping.is_enabled(spark)
        assert len(spark.read.parquet(path).where(WHERE).inputFiles()) == 0
    finally:
        skipping.disable(spark)


@pytest.mark.parametrize(
    "fault", ["aggregates", "unknown_function", "fails_on_rows", "check", "made", "finish"]
)
def test_while_it_is_made(
    skipping_on: SparkSession,
    table_of: Table,
    faults: set[str],
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    frame = skipping_on.range(0, 1000, 1, 4).selectExpr("id", "timestamp_seconds(id * 86400) AS ts")
    path = table_of(frame, "nulls:id")
    if fault == "finish":
        set_in_workers(monkeypatch, "FINISH_FAILS")
    else:
        faults.add(fault)
    with pytest.raises(StarskipError, match="months:ts: cannot be made"):
        skipping.create(skipping_on, path, ["months:ts"])
    with caplog.at_level(logging.WARNING, "starskip.skipping"):
        done = skipping.create(skipping_on, path, ["months:ts", "minmax:id"])
    assert (done.indexes, [*done.failed_indexes]) == (("minmax:id", "nulls:id"), ["months:ts"])
    assert "months:ts: left out" in caplog.text
    assert len(skipping_on.read.parquet(path).where("id < 500").inputFiles()) == 2
    assert skipping.list_indexes(skipping_on, path) == ["minmax:id", "nulls:id"]


def test_a_refresh_goes_on_without_it_and_makes_it_later(
    skipping_on: SparkSession, path: str, faults: set[str]
) -> None:
    more = skipping_on.range(2000, 2001).selectExpr("id", "timestamp_seconds(id) AS ts").coalesce(1)
    more.write.mode("append").parquet(path)
    aged(Path(path))
    faults.add("fails_on_rows")
    done = skipping.refresh(skipping_on, path)
    assert (done.collected_files, done.indexes, [*done.failed_indexes]) == (1, ("minmax:id",), ["months:ts"])
    faults.clear()
    done = skipping.refresh(skipping_on, path)
    assert (done.indexes, done.failed_indexes) == (("minmax:id", "months:ts"), {})
    assert len(skipping_on.read.parquet(path).where("month(ts) = -1").inputFiles()) == 0


def test_when_what_it_gives_cannot_be_merged(
    skipping_on: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    more = skipping_on.range(2000, 2001).selectExpr("id", "timestamp_seconds(id) AS ts").coalesce(1)
    more.write.mode("append").parquet(path)
    aged(Path(path))
    set_in_workers(monkeypatch, "TEXTS")
    assert not skipping.refresh(skipping_on, path).failed_indexes
    assert skipping.optimize(skipping_on, path) is not None
    assert "months:ts: left out" in caplog.text
    assert len(skipping_on.read.parquet(path).where("id = 2000").inputFiles()) == 1
    done = skipping.refresh(skipping_on, path)
    assert done.indexes == ("minmax:id", "months:ts")
    assert len(skipping_on.read.parquet(path).where("month(ts) = -1").inputFiles()) == 0


def test_the_command_line_goes_on_without_it(
    skipping_on: SparkSession, path: str, faults: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_module = ("--module", "months_of_a_user")
    faults.add("made")
    for command in (["create", "--index", "months:ts", "--index", "nulls:id"], ["refresh"]):
        done = CliRunner().invoke(main, ["skipping", command[0], path, *command[1:], *of_module])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["skipping", "create", path, "--index", "months:ts", *of_module])
    assert done.exit_code == 3 and "raised LookupError: no calendar" in done.output


def set_in_workers(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the module that is sent to Spark's workers be another one, of another name."""
    old = module()
    text = MODULE.replace(f"{name} = False", f"{name} = True").replace("@register\n", "")
    file = Path(old.__file__).with_name(f"months_with_{name.lower()}.py")
    file.write_text(text)
    other: Any = __import__(file.stem)
    monkeypatch.setitem(registry._types, "months", other.Months)
