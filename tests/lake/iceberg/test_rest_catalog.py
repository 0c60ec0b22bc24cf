"""A table of a REST catalog on loopback, whose files lie in an object store: SeaweedFS is both."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from starskip.errors import SourceError
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_folder import table_folder
from starskip.secondary import open_table as indexed_table
from starskip.secondary.lifecycle import create_indexes

pytestmark = pytest.mark.slow

ROWS = pa.table({"a": [3, 1, None], "s": ["x", "y" * 40, None]})


@pytest.fixture
def catalog(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    s3.shell("s3tables.bucket -create -name lake -account 000000000000\n")
    for name, value in {
        "uri": s3.iceberg,
        "warehouse": "s3://lake",
        "credential": "writer-key:writer-SECRET",
        "oauth2_server_uri": f"{s3.iceberg}/v1/oauth/tokens",
        "s3__endpoint": s3.endpoint,
        "s3__access_key_id": "writer-key",
        "s3__secret_access_key": "writer-SECRET",
        "s3__region": "us-east-1",
    }.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__REST__{name.upper()}", value)
    monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
    made = load_catalog("rest")
    made.create_namespace("n")
    return made


def test_a_table_by_its_name_in_the_catalog(catalog: Any, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.create_table("n.t", ROWS.schema)
    table.append(ROWS)
    name = "iceberg://rest/n/t"
    found = open_lake_table(name)
    assert table_folder(name) == table.location().rstrip("/") == "s3://lake/n/t"
    assert found.files["rows"].to_pylist() == [3] and found.bounds is not None
    assert found.bounds.to_pylist()[0]["max.a"] == 3
    assert found.files.equals(open_lake_table("s3://lake/n/t").files)
    create_indexes(name, ["btree:a"])
    assert indexed_table(name).query("a = 1").to_pylist() == [{"a": 1, "s": "y" * 40}]
    assert indexed_table("s3://lake/n/t").explain("a = 1").to_document()["candidates"]
    table.append(ROWS)
    assert open_lake_table(name).files.num_rows == 2
    assert open_lake_table(name, version=found.version).files.equals(found.files)
    with pytest.raises(SourceError, match="the catalog rest has no such table"):
        open_lake_table("iceberg://rest/n/gone")
    monkeypatch.setenv("PYICEBERG_CATALOG__REST__URI", "http://127.0.0.1:9")
    monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
    with pytest.raises(SourceError, match="the catalog rest cannot be asked") as caught:
        open_lake_table(name)
    assert "\n" not in str(caught.value)
