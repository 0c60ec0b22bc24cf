"""Functions of installed packages that conditions may call."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from starskip.extensions import FUNCTIONS
from starskip.spark.skipping import explain_condition

registered: list[object] = []
NO_SESSION = cast(SparkSession, None)


def fails(spark: SparkSession) -> None:
    raise ValueError("no such thing")


def test_a_package_that_fails_is_named_and_the_others_are_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    places: dict[str, Any] = {
        "gone": "no_such_module:register",
        "broken": f"{__name__}:fails",
        "good": f"{__name__}:registered.append",
    }
    found = {name: EntryPoint(name, place, FUNCTIONS) for name, place in places.items()}
    monkeypatch.setattr(explain_condition, "extensions", {FUNCTIONS: found}.__getitem__)
    with caplog.at_level(logging.WARNING, "starskip.skipping"):
        explain_condition.register_package_functions(NO_SESSION)
    assert registered == [NO_SESSION]
    gone, broken = (record.getMessage() for record in caplog.records)
    assert gone.startswith(
        "functions of no_such_module:register are left out: ConfigError: gone needs no_such_module"
    )
    assert broken.startswith(f"functions of {__name__}:fails are left out: ")
    assert "no such thing" in broken
