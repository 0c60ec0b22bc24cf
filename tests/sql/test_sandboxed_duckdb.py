"""The database computes, and reaches nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.errors import UnsupportedQuery
from starskip.sql.sandboxed_duckdb import locked_database

SECRET = pa.table({"secret": [1]})


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{file}')",
        "SELECT * FROM SECRET",
        "SELECT getenv('HOME')",
        "ATTACH '{file}.db' AS other",
        "COPY (SELECT 1) TO '{file}.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '1TB'",
        "RESET threads",
    ],
)
def test_files_settings_and_variables_are_out_of_reach(statement: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(SECRET, file)
    with pytest.raises(UnsupportedQuery) as caught:
        locked_database().rows(statement.format(file=file))
    assert caught.value.reason == "not_computed"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows.parquet"]


def test_tables_are_those_that_are_given() -> None:
    database = locked_database()
    database.keep(pa.table({"a": [1, 2]}), "kept")
    found = database.rows("SELECT a + b AS c FROM kept JOIN given ON a = b", given=pa.table({"b": [2, 3]}))
    assert found.to_pydict() == {"c": [4]}
    with pytest.raises(UnsupportedQuery):
        database.rows("SELECT * FROM given")


def test_whole_numbers_are_int64_as_long_as_they_fit() -> None:
    database = locked_database()
    found = database.rows("SELECT SUM(a) AS s FROM t", t=pa.table({"a": [2**62, 5]}))
    assert found.schema.field("s").type == pa.int64()
    found = database.rows("SELECT SUM(a) AS s FROM t", t=pa.table({"a": [2**62, 2**62]}))
    assert [int(value) for value in found.column("s").to_pylist()] == [2**63]


def test_time_is_utc() -> None:
    assert locked_database().rows("SELECT current_setting('TimeZone') AS z").to_pydict() == {"z": ["UTC"]}
