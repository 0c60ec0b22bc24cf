"""Delta's connector for the sample: fetched by Spark itself, or plain files where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample.delta_connector import fetch_connector

pytestmark = [pytest.mark.spark, pytest.mark.table_formats]


def test_its_jars_are_fetched_and_named(tmp_path: Path) -> None:
    names = tmp_path / "é delta" / "jars.txt"
    assert fetch_connector(names)
    listed = names.read_text().splitlines()
    assert sorted(path.name for path in names.parent.glob("*.jar")) == listed
    assert any("delta-spark" in name for name in listed) and any("delta-storage" in name for name in listed)
    # What Spark has would be there twice, in another version.
    assert not [name for name in listed if "hadoop-client" in name or "parquet" in name]


@pytest.mark.slow
def test_where_it_cannot_be_had_no_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody answers at the proxy, and Maven's own cache is somebody else's.
    nowhere = f"-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 -Duser.home={tmp_path}"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", nowhere)
    assert not fetch_connector(tmp_path / "delta" / "jars.txt")
    assert [path.name for path in (tmp_path / "delta").iterdir()] == ["jars.txt"]
    assert (tmp_path / "delta" / "jars.txt").read_text() == ""
