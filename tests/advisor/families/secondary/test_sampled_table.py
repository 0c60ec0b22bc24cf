"""The sample of files that candidates are built over."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.advisor.families.secondary.advice.sampled_table import SampledTable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(20):
        pq.write_table(
            pa.table({"a": range(number * 10, number * 10 + 10)}), tmp_path / f"{number:02}.parquet"
        )
    return tmp_path


def names(table: SampledTable) -> list[str]:
    return [path.rpartition("/")[2] for path in table.snapshot.files["path"].to_pylist()]


def test_a_sample_spans_the_table_by_files_and_bytes(folder: Path) -> None:
    table = SampledTable(str(folder), most_files=3)
    assert names(table) == ["00.parquet", "09.parquet", "19.parquet"]
    assert table.bytes_ratio == pytest.approx(20 / 3, rel=0.05)
    assert names(SampledTable(str(folder), most_files=50)) == [f"{number:02}.parquet" for number in range(20)]
    size = (folder / "00.parquet").stat().st_size
    assert len(names(SampledTable(str(folder), most_files=50, most_bytes=5 * size + 10))) in (4, 5)
    assert names(SampledTable(str(folder), most_files=50, most_bytes=1)) == ["00.parquet"]
