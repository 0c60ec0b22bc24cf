"""A night over a log that a shipper wrapped is the night over the log itself; one that nobody reads stops."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.quality]

DAY = Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-20.log.gz"
LINES = gzip.decompress(DAY.read_bytes()).decode().splitlines()


def shipped(field: str) -> str:
    """Return the day as containerd's lines with JSON of Fluent Bit in them, an object for each line."""
    return "".join(
        f"2026-11-20T00:00:00.1Z stdout F {json.dumps({field: line, 'stream': 'stdout'})}\n" for line in LINES
    )


def night_of(lab: Any, text: str) -> dict[str, list[str]]:
    for log in lab.logs.iterdir():
        log.unlink()
    lab.log(text)
    failed: dict[str, list[str]] = lab.run_with_gates()
    return failed


def test_a_night_over_a_wrapped_log(lab: Any) -> None:
    assert night_of(lab, "\n".join(LINES) + "\n") == {}
    plain = lab.report("lineitem")
    assert night_of(lab, shipped("log")) == {}
    wrapped = lab.report("lineitem")
    assert wrapped["chosen"] == plain["chosen"] != []
    assert wrapped["summary"] == plain["summary"]
    records = plain["data_quality"]["records"]
    assert wrapped["data_quality"]["wrapped"] == {"cri": records, "json:log": records}
    assert f"Unwrapped records: cri {records:,}, json:log {records:,}." in lab.markdown("lineitem")


def test_a_night_over_a_log_that_nothing_in_it_explains(lab: Any) -> None:
    text = "".join(
        json.dumps({"data": f"{n} lineitem", "time": f"2026-11-20T0{n}:00:00Z"}) + "\n" for n in range(9)
    )
    failed = night_of(lab, text)
    assert "lineitem" in failed
    assert any("in a form that is not known" in check for check in failed["lineitem"])
