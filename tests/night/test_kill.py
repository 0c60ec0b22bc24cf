"""kill -9 in the middle of a local night: what was published stays readable, the next run needs no human."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import starskip
from settings_with import settings_document

KILL_COUNT = int(os.environ.get("STARSKIP_KILL_COUNT", "6"))


def _started(lab: Any) -> subprocess.Popen[bytes]:
    config = lab.root / "night.yaml"
    document = {
        "store": {"artefacts": "artefacts"},
        "sources": {"log_paths": ["logs"], "segments_root": "segments"},
        "settings": settings_document(lab.settings),
    }
    config.write_text(json.dumps(document))
    command = [sys.executable, "-c", "from starskip.cli.main import main; main()", "stage", "all"]
    return subprocess.Popen(
        [*command, "--config", str(config), "--run-date", "2026-11-20"],
        env=os.environ | {"PYTHONPATH": str(Path(starskip.__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _read_all(lab: Any) -> dict[str, dict[str, bytes]]:
    return {
        name: lab.published(name)
        for name in lab.night().store.artefacts()
        if lab.night().store.snapshot(name, "2026-11-20") is not None
    }


def test_killed_at_random_moments(lab: Any) -> None:
    start = time.monotonic()
    process = _started(lab)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    seconds = time.monotonic() - start
    first, moments, killed = _read_all(lab), random.Random(20261120), 0
    assert first.keys() >= {"table_facts", "queries", "latency_model", "votes", "recommendations", "reports"}
    for _ in range(KILL_COUNT):
        process = _started(lab)
        time.sleep(moments.uniform(0.3, 1.0) * seconds)
        process.kill()
        process.communicate()
        killed += process.returncode < 0
        seen = _read_all(lab)
        assert seen.keys() == first.keys()
        assert seen["recommendations"] == first["recommendations"]
    process = _started(lab)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert _read_all(lab)["recommendations"] == first["recommendations"]
    assert killed >= KILL_COUNT / 2
