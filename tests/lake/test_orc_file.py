"""ORC files: positions of rows, and what Spark reads otherwise is refused."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc
from starskip.lake.listed_file import ReplacedFile
from starskip.lake.orc_file import OrcFile
from starskip.lake.unlike_spark import UnlikeSpark


def written(path: Path, rows: pa.Table, **options: Any) -> OrcFile:
    orc.write_table(rows, path, **options)
    status = path.stat()
    return OrcFile(str(path), status.st_size, status.st_mtime_ns // 1_000_000)


def rows_of(file: OrcFile, positions: list[int] | None = None) -> list[tuple[int, dict[str, Any]]]:
    """The rows with their positions."""
    wanted = None if positions is None else np.array(positions)
    return [
        (start + at, row)
        for start, rows in file.stripes(file.schema.names, wanted)
        for at, row in enumerate(rows.to_pylist())
    ]


def test_a_file_that_was_written_again_is_not_read(tmp_path: Path) -> None:
    file = written(tmp_path / "x.orc", pa.table({"a": [1]}))
    written(tmp_path / "x.orc", pa.table({"a": [2]}))
    os.utime(tmp_path / "x.orc", (1, 1))
    with pytest.raises(ReplacedFile):
        rows_of(file)


def test_only_stripes_with_positions_are_read(tmp_path: Path) -> None:
    rows = pa.table({"a": range(100), "b": [f"text {at}" for at in range(100)]})
    file = written(tmp_path / "x.orc", rows, batch_size=10, stripe_size=64)
    assert file.stripe_count > 4
    found = rows_of(file, [55])
    assert (55, {"a": 55, "b": "text 55"}) in found
    assert len(found) < 100
    assert [row["a"] for _, row in rows_of(file)] == list(range(100))


def test_times_are_of_utc_and_those_of_other_calendars_are_refused(tmp_path: Path) -> None:
    columns = {
        "t": pa.array([datetime(2026, 1, 1), None], pa.timestamp("us")),
        "d": pa.array([date(1500, 1, 1), date(2026, 1, 1)]),
        "old": pa.array([datetime(1800, 1, 1), None], pa.timestamp("us")),
        "none": pa.array([None, None], pa.date32()),
    }
    file = written(tmp_path / "x.orc", pa.table(columns))
    assert file.schema.field("t").type == pa.timestamp("us", "UTC")

    def read(name: str) -> list[Any]:
        return [rows[name].to_pylist() for _, rows in file.stripes([name])]

    assert read("t")[0][0].replace(tzinfo=UTC) == datetime(2026, 1, 1, tzinfo=UTC)
    assert read("none") == [[None, None]]
    for name in ("d", "old"):
        with pytest.raises(UnlikeSpark, match=f"column {name} has"):
            read(name)
