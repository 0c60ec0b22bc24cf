"""A snapshot of a table that changed at random says of its files what reading them says."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changing_tables import OPERATIONS, ROWS, ChangingDelta, ChangingIceberg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from pyiceberg.catalog.sql import SqlCatalog
from starskip.errors import SourceError
from starskip.lake import file_columns
from starskip.lake.file_columns import stored_names, with_names_of_today
from starskip.lake.iceberg import iceberg_bounds, iceberg_manifests
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_snapshot import TableSnapshot

# Nothing to delete, or to replace, is no failure of a random change.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records"),
]
EXAMPLES = law_cases("STARSKIP_SNAPSHOT_EXAMPLES", 12)
LAW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CHANGES = st.lists(OPERATIONS, max_size=6)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    folder = tmp_path_factory.mktemp("iceberg")
    made = SqlCatalog("law", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    made.create_namespace("n")
    yield made
    made.close()


def in_order(value: Any) -> tuple[bool, Any]:
    """Return what Spark orders numbers and texts by: NaN is greatest, texts count as bytes."""
    if isinstance(value, str):
        return False, value.encode()
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


def require_true(snapshot: TableSnapshot, listed: set[str], content: pa.Table) -> int:
    """Compare a snapshot with its files; return the number of bounds that there were."""
    files = snapshot.files.to_pylist()
    assert {file["path"] for file in files} == listed
    assert snapshot.schema is not None
    assert [column.path[0] for column in snapshot.columns] == content.column_names == snapshot.schema.names
    bounds = [{} for _ in files] if snapshot.bounds is None else snapshot.bounds.to_pylist()
    tables = []
    told = 0
    for file, bound in zip(files, bounds, strict=True):
        stored = pq.ParquetFile(file["path"])
        schema = stored.schema_arrow
        assert file["rows"] == stored.metadata.num_rows
        assert file["size_bytes"] == Path(file["path"]).stat().st_size
        there = stored_names(schema, snapshot.columns, file["path"])
        table = stored.read([name for name in there.values() if name is not None])
        table = with_names_of_today(table, schema, snapshot.columns, file["path"])
        # Of a type that was widened, or as a writer's library has texts.
        table = table.cast(pa.schema([snapshot.schema.field(name) for name in table.column_names]))
        tables.append(table)
        for name in table.column_names:
            values = table[name].to_pylist()
            known = [value for value in values if value is not None]
            least, greatest = bound.get(f"min.{name}"), bound.get(f"max.{name}")
            if bound.get(f"null_count.{name}") is not None:
                assert bound[f"null_count.{name}"] == values.count(None)
                told += 1
            for value in known:
                assert least is None or in_order(least) <= in_order(value), (name, least, value)
                assert greatest is None or in_order(value) <= in_order(greatest), (name, greatest, value)
            if known and isinstance(known[0], int):
                assert (least, greatest) == (min(known), max(known))
                told += 1
            for each in (least, greatest):
                assert not (isinstance(each, float) and each == 0 and math.copysign(1, each) < 0)
    if tables:
        found = pa.concat_tables(tables, promote_options="permissive")
        missing = [name for name in content.column_names if name not in found.column_names]
        for name in missing:
            found = found.append_column(name, pa.nulls(found.num_rows, pa.string()))
        assert sorted_rows(found.select(content.column_names)) == sorted_rows(content)
    return told


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(repr(list(row.values())) for row in table.to_pylist())


@pytest.mark.law
@LAW
@given(first=ROWS, changes=CHANGES)
def test_iceberg(catalog: SqlCatalog, first: Any, changes: list[Any]) -> None:
    table = ChangingIceberg(catalog, f"t{uuid4().hex}")
    assert open_lake_table(table.table.metadata_location).files.num_rows == 0
    versions = {}
    for kind, values in [("append", first), *changes]:
        table.change(kind, values)
        place = table.table.metadata_location
        listed, content = table.listed(), table.content()
        require_true(open_lake_table(place), listed, content)
        snapshot = table.table.current_snapshot()
        if snapshot is not None:
            versions[snapshot.snapshot_id] = listed
    for version, listed in versions.items():
        older = open_lake_table(table.table.metadata_location, version=version)
        assert older.version == version
        assert set(older.files["path"].to_pylist()) == listed
    shutil.rmtree(table.path)


@pytest.mark.law
@LAW
@given(first=ROWS, changes=CHANGES)
def test_delta(tmp_path: Path, first: Any, changes: list[Any]) -> None:
    table = ChangingDelta(tmp_path / uuid4().hex)
    versions = {}
    for kind, values in [("append", first), *changes]:
        table.change(kind, values)
        listed = table.listed()
        found = open_lake_table(table.path)
        require_true(found, listed, table.content())
        versions[found.version] = listed
    for version, listed in versions.items():
        assert set(open_lake_table(table.path, version=version).files["path"].to_pylist()) == listed
    shutil.rmtree(table.path)


STEPS = [
    ("append", [(1, 1.5, "a"), (7, math.nan, "z" * 40)]),
    ("swap", None),
    ("append", [(0, -0.0, "b")]),
    ("replace", None),
    ("append", [(5, 2.5, "é" * 20), (None, None, None)]),
    ("delete", None),
]


def a_table(catalog: SqlCatalog) -> ChangingIceberg:
    table = ChangingIceberg(catalog, f"t{uuid4().hex}")
    for kind, values in STEPS:
        table.change(kind, values)
    return table


def require_table(table: ChangingIceberg) -> int:
    return require_true(open_lake_table(table.table.metadata_location), table.listed(), table.content())


BROKEN = (AssertionError, SourceError, KeyError, TypeError, ValueError)
"""The errors of a fault that gives other values, or values of another column's type."""


def by_names(fields: Any, columns: Any, path: str) -> dict[str, str | None]:
    present = {each.name for each in fields}
    return {each.path[-1]: each.path[-1] if each.path[-1] in present else None for each in columns}


def cut_bounds(values: Any) -> pa.Array:
    return pa.array([None if each is None else each.decode()[:10] for each in values], pa.string())


def test_faults_are_found(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(catalog)
    assert require_table(table) > 7
    for place, name, fault in (
        (file_columns, "_names", by_names),
        (iceberg_bounds, "_texts", cut_bounds),
        (iceberg_manifests, "_DELETED", -1),
    ):
        with (
            monkeypatch.context() as patch,
            pytest.raises(BROKEN),
        ):
            patch.setattr(place, name, fault)
            require_table(table)
    older = table.table.metadata.snapshots[0].snapshot_id
    with pytest.raises(AssertionError):
        require_true(
            open_lake_table(table.table.metadata_location, version=older), table.listed(), table.content()
        )
