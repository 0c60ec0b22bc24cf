"""A full disk, a real one of a few kilobytes: exit code 1, and one line that names disk and folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tiny_disk import run_on_tiny_disk

INSTALLED = Path(sys.executable).with_name("starskip")
Command = Callable[[Path, Path], list[str | Path]]

SPOOL = """
import sys
import pyarrow as pa
from starskip.cli.main import main
from starskip.advisor.selection.spooled_batches import SpooledBatches
import starskip.storage.files.log_files as files

def spool(*_):
    blob = pa.RecordBatch.from_pydict({"a": [open("/dev/urandom", "rb").read(8 << 20)]})
    with SpooledBatches((blob for _ in range(12)), blob.schema):
        pass

files.log_files = spool
main(["parse-log", "x"])
"""


@pytest.fixture
def night(tmp_path: Path, deep_store: Path, logs: Path) -> Path:
    path = tmp_path / "night.yaml"
    path.write_text(
        "store: {artefacts: tiny/store}\n"
        f"sources: {{segments_root: {deep_store}, log_paths: '{logs}/broker-2026-11-20.log.gz'}}\n"
    )
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A table whose tree is larger than the disk."""
    generator = np.random.default_rng(5)
    columns = {name: generator.integers(0, 1_000, 20_000) for name in ("a", "b", "m")}
    pyarrow.csv.write_csv(pa.table(columns), tmp_path / "rows.csv")
    config = {"dimensionsSplitOrder": ["a", "b"], "functionColumnPairs": ["SUM__m"], "maxLeafRecords": 10}
    (tmp_path / "tree.json").write_text(json.dumps(config))
    return tmp_path / "rows.csv"


def said(tiny: Path, command: list[str | Path], size: str = "150k", **environment: str) -> str:
    done = run_on_tiny_disk(tiny, size, command, environment)
    assert done.returncode == 1, done.stderr
    line = done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "No space left on device" in line
    assert f"the disk mounted at {tiny} is full" in line
    return line


def test_artefacts_of_a_night(night: Path, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    arguments = ["stage", "all", "--config", night, "--run-date", "2026-11-20"]
    line = said(tiny, [INSTALLED, *arguments], "48k")
    assert line.startswith(f"starskip: {tiny}/store/")


def test_a_star_tree(rows: Path, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    options = ["--input", rows, "--config", tmp_path / "tree.json", "--output", tiny / "trees"]
    assert said(tiny, [INSTALLED, "star-tree", "build", *options]).startswith(f"starskip: {tiny}/trees")


def test_a_file_of_metadata(deep_store: Path, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    command = [INSTALLED, "collect-metadata", "--segments", deep_store, "--output", tiny / "m.json"]
    assert said(tiny, command, "4k").startswith(f"starskip: {tiny}/m.json: ")


def test_the_temporary_folder(tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    line = said(tiny, [sys.executable, "-c", SPOOL], "8m", TMPDIR=str(tiny))
    assert line.startswith(f"starskip: {tiny}: ")


def test_copies_of_reports(tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    program = (
        "import sys; from pathlib import Path; from starskip.reports import export_reports as module\n"
        "from starskip.cli.main import main; import starskip.storage.files.log_files as files\n"
        "files.log_files = lambda _: module._write(Path(sys.argv[1]) / 'n' / 'r', bytes(9_000), None)\n"
        "main(['parse-log', 'x'])"
    )
    line = said(tiny, [sys.executable, "-c", program, tiny], "4k")
    assert line.startswith(f"starskip: {tiny}/n: ")
