"""kill -9 in the middle of a local night: what was published stays readable, the next run needs no human."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import starskip
import starskip_children
from law_cases import law_cases
from settings_with import settings_document

KILL_COUNT = law_cases("STARSKIP_KILL_COUNT", 6)


@pytest.fixture
def children() -> Iterator[subprocess.Popen[str]]:
    """A process that forks nights: to start an interpreter for each would cost more than the night."""
    with subprocess.Popen(
        [sys.executable, starskip_children.__file__],
        env=os.environ | {"PYTHONPATH": str(Path(starskip.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def _exit_code(lab: Any, children: Any, killed_after_s: float | None = None) -> int:
    """Run a night to its end, or kill it before; what it says of an error goes to stderr."""
    config = lab.root / "night.yaml"
    document = {
        "store": {"artefacts": "artefacts"},
        "sources": {"log_paths": ["logs"], "segments_root": "segments"},
        "settings": settings_document(lab.settings),
    }
    config.write_text(json.dumps(document))
    arguments = ["stage", "all", "--config", str(config), "--run-date", "2026-11-20"]
    children.stdin.write(json.dumps([arguments, killed_after_s]) + "\n")
    children.stdin.flush()
    return int(children.stdout.readline())


def _read_all(lab: Any) -> dict[str, dict[str, bytes]]:
    return {
        name: lab.published(name)
        for name in lab.night().store.artefacts()
        if lab.night().store.snapshot(name, "2026-11-20") is not None
    }


@pytest.mark.law
def test_killed_at_random_moments(lab: Any, children: Any) -> None:
    start = time.monotonic()
    assert _exit_code(lab, children) == 0
    seconds = time.monotonic() - start
    first, moments, killed = _read_all(lab), random.Random(20261120), 0
    assert first.keys() >= {"table_facts", "queries", "latency_model", "votes", "recommendations", "reports"}
    for _ in range(KILL_COUNT):
        killed += _exit_code(lab, children, moments.uniform(0.0, 1.0) * seconds) < 0
        seen = _read_all(lab)
        assert seen.keys() == first.keys()
        assert seen["recommendations"] == first["recommendations"]
    assert _exit_code(lab, children) == 0
    assert _read_all(lab)["recommendations"] == first["recommendations"]
    assert killed >= KILL_COUNT / 2
