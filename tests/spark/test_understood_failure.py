from __future__ import annotations

import pytest
from starskip.errors import (
    CapExceeded,
    CommitConflict,
    MissingSource,
    SourceOutage,
    StarskipError,
    StorageError,
    StorageOutage,
    TransientError,
)
from starskip.spark.understood_failure import understood_failure

TRACE = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed
Traceback (most recent call last):
  File "snapshot.py", line 1, in _batches
OSError: Deserializing page header failed.

The above exception was the direct cause of the following exception:

{name}: {error}

\tat org.apache.spark.api.python.BasePythonRunner.run(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StorageOutage("s3://b/x: the store at h does not answer in time", location="x"), TransientError),
        (
            SourceOutage("s3://b/x: the store answers 503, after repeated attempts", source="x"),
            TransientError,
        ),
        (CommitConflict("votes: other writers came first 100 times"), TransientError),
        (StorageError("votes/data/x.parquet: is damaged", location="votes/data/x.parquet"), StorageError),
        (MissingSource("no log file at /x: check the path", source="/x"), StarskipError),
    ],
)
def test_what_a_caller_may_act_on_is_kept(error: StarskipError, kind: type[StarskipError]) -> None:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    found = understood_failure(RuntimeError(TRACE.format(name=name, error=error)))
    assert type(found) is kind
    assert str(found) == str(error)
    if isinstance(error, StorageError) and isinstance(found, StorageError):
        assert found.location == error.location


def test_what_is_not_ours_stays_as_it_is() -> None:
    for text in ("java.lang.OutOfMemoryError: heap", TRACE.format(name="starskip.night.x", error="1"), ""):
        error = RuntimeError(text)
        assert understood_failure(error) is error
    over = RuntimeError("total size is bigger than spark.driver.maxResultSize (16.0 MiB)")
    assert isinstance(understood_failure(over), CapExceeded)


def test_executors_with_another_python_are_told_what_to_do() -> None:
    error = RuntimeError("Caused by: ModuleNotFoundError: No module named 'starskip'")
    assert "PYSPARK_PYTHON" in str(understood_failure(error))


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_of_spark_s_own_may_have_room_by_the_next_try(words: str) -> None:
    full = RuntimeError(f"Job aborted: java.io.IOException: {words}\n\tat java.base/sun.nio.ch")
    found = understood_failure(full)
    assert isinstance(found, TransientError)
    assert "spark.local.dir" in str(found)
