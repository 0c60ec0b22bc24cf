"""Public names of ``from starskip.spark import skipping``, and its functions' arguments."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import starskip
from pyspark.sql import SparkSession
from skipping_tables import lines_of
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_it_shows_the_public_names_alone() -> None:
    from starskip.spark.skipping import lifecycle, session, skipping_rule

    assert dir(skipping) == sorted(skipping.__all__)
    assert all(module.__name__ for module in (lifecycle, session, skipping_rule))
    assert all(callable(getattr(skipping, name)) for name in dir(skipping))
    assert all(inspect.getdoc(getattr(skipping, name)) for name in dir(skipping))
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = skipping.no_such_function  # type: ignore[attr-defined]


def test_a_star_import_and_an_import_by_name() -> None:
    script = "from starskip.spark.skipping import *; print(create, skip)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(Path(starskip.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "function create" in done.stdout, done.stderr


def test_the_format_is_named_as_on_the_command_line(spark: SparkSession, tmp_path: Path) -> None:
    table = lines_of(tmp_path / "t", {f"f{at}.json": f'{{"a": {at}}}' for at in range(3)})
    assert skipping.create(spark, table, ["minmax:a"], format="json").files == 3
    assert skipping.refresh(spark, table, format="json").files == 3
