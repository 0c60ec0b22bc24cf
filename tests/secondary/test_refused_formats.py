"""Each entry refuses tables of Avro, JSON and CSV files in one line that names the two ways out."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from starskip.advisor.families.secondary.advice.publish_advice import (
    SecondaryAdvice,
    measured_secondary,
    publish_secondary_advice,
)
from starskip.advisor.families.secondary.advice.sampled_table import SampledTable
from starskip.advisor.families.secondary.refresh_secondary_indexes import BUILDS, refresh_secondary_indexes
from starskip.advisor.run.night import Night
from starskip.cli.main import main
from starskip.errors import SourceError
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, refresh_indexes
from starskip.settings import Settings
from starskip.spark.skipping.signature_comparison import read_otherwise
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

FORMATS = ("avro", "json", "csv")
LINE = "{0} files have no secondary indexes: write the table as Parquet, or use skipping"


@pytest.fixture(params=[(each, was_indexed) for each in FORMATS for was_indexed in (False, True)])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A folder and the format of its file; it may have indexes of a Parquet file that was there before."""
    file_format, was_indexed = request.param
    folder = tmp_path / "t"
    folder.mkdir()
    if was_indexed:
        whole = folder / "a.parquet"
        pq.write_table(pa.table({"id": range(10)}), whole)
        os.utime(whole, (1_700_000_000, 1_700_000_000))
        create_indexes(str(folder), ["btree:id"])
        whole.unlink()
    (folder / f"a.{file_format}").write_text("id\n1\n")
    return str(folder), file_format


def command(path: str, *arguments: str) -> str:
    """The one line of a command that is refused."""
    done = CliRunner().invoke(main, ["secondary", arguments[0], path, *arguments[1:]])
    assert done.exit_code == 3 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    return line


def test_commands_refuse_them(table: tuple[str, str]) -> None:
    path, named = table
    as_named = ("--format", named)
    lines = [command(path, "create", "--index", "btree:id", *as_named), command(path, "refresh", *as_named)]
    # The output of a query may be JSON or CSV, so that these name no table's format; files of CSV tell it.
    for asked in [as_named] if named == "avro" else [()] if named == "csv" else []:
        lines += [command(path, each, "id = 1", *asked) for each in ("query", "explain")]
    for line in lines:
        assert LINE.format(named) in line and path in line


def test_functions_refuse_them(table: tuple[str, str]) -> None:
    path, named = table
    entries: list[Callable[[], object]] = [
        lambda: create_indexes(path, ["btree:id"], file_format=named),
        lambda: refresh_indexes(path, file_format=named),
        lambda: open_table(path, file_format=named).query("id = 1"),
        lambda: SampledTable(path, named).snapshot,
    ]
    if named == "csv":
        entries.append(lambda: create_indexes(path, ["btree:id"]))
        entries.append(lambda: open_table(path).query("id = 1"))
    for entry in entries:
        with pytest.raises(SourceError, match=LINE.format(named)):
            entry()


def test_nights_advise_and_build_none(table: tuple[str, str]) -> None:
    path, named = table
    night = Night(
        date(2026, 11, 20),
        ArtefactStore(storage_for(f"{path}-artefacts")),
        Settings(),
        datetime(2026, 11, 21, tzinfo=UTC),
        "test",
        lake_tables={"t": LakeTable(path, file_format=named)},
        event_log_paths=["events"],
    )
    measured = measured_secondary(LocalEngine(), night, "t", lambda *_: pytest.fail("nothing is measured"))
    assert measured.skips is None
    advice, _ = measured.advise((), 0.0)
    assert str(advice.properties["note"]).startswith(LINE.format(named))
    # A choice of before, when the table was of Parquet files.
    row = {"table": "t", "index": "btree:id", "verdict": "chosen", "rank": 1}
    publish_secondary_advice(night, {"t": SecondaryAdvice([row], {"note": None})})
    done = refresh_secondary_indexes(LocalEngine(), night)
    assert [LINE.format(named) in each for each in done.warnings] == [True]
    (built,) = night.store.snapshot(BUILDS, night.date_text).read_table(["t"]).to_pylist()
    assert built["outcome"] == "failed" and LINE.format(named) in built["detail"]


@pytest.mark.parametrize("name", ["Avro", "Json", "CSV"])
def test_spark_uses_none(name: str) -> None:
    for indexed in ("parquet", name.lower()):
        found = {"format": f"{name}FileFormat", "schema": "{}"}
        assert str(read_otherwise(found, indexed)).startswith(LINE.format(name.lower()))
