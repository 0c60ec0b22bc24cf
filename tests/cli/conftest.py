"""The command line, called in this process or as the installed command, over a small deep store."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starskip.cli.main import main

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
INSTALLED = Path(sys.executable).with_name("starskip")

Call = Callable[..., Result]


@pytest.fixture(scope="session")
def logs() -> Path:
    return SAMPLE / "logs"


@pytest.fixture(scope="session")
def call() -> Call:
    """Call ``starskip`` in this process; the result has exit_code, stdout and stderr."""

    def run(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception  # a stack trace is what a user would see
        return result

    return run


@pytest.fixture(scope="session")
def installed() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command."""

    def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [str(INSTALLED), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture(scope="session")
def deep_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One segment of lineitem and three of airlineStats."""
    root = tmp_path_factory.mktemp("deep") / "segments"
    for table, count in (("lineitem", 1), ("airlineStats", 3)):
        (root / table).mkdir(parents=True)
        for path in sorted((SAMPLE / "segments" / table).iterdir())[:count]:
            shutil.copy2(path, root / table / path.name)
    return root


@pytest.fixture(scope="session")
def line(logs: Path) -> Callable[..., str]:
    """Return one log line made from a real one."""
    with gzip.open(logs / "broker-2026-11-18.log.gz", "rt", encoding="utf-8") as file:
        real = next(text for text in file if ",table=lineitem," in text and ",exceptions=0," in text)

    def make(query: str, entries: int, exceptions: int = 0) -> str:
        before, _, rest = real.partition(",entries=")
        rest = (
            rest.partition("/")[2].partition(",query=")[0].replace("exceptions=0", f"exceptions={exceptions}")
        )
        return f"{before},entries={entries}/{rest},query={query}\n"

    return make


@pytest.fixture(scope="session")
def tune(call: Call, deep_store: Path) -> Callable[..., dict[str, Any]]:
    """Return the tables of ``tune --format json``; answers of equal calls are kept."""

    @cache
    def run(*arguments: str) -> dict[str, Any]:
        result = call("tune", "--segments", deep_store, "--format", "json", *arguments)
        assert result.exit_code == 0, result.stderr
        document = json.loads(result.stdout)
        assert list(document) == ["tables"]
        tables: dict[str, Any] = document["tables"]
        return tables

    return run
