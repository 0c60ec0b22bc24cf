from __future__ import annotations

from pathlib import Path

import pytest
from starskip.artefacts.local_storage import LocalStorage
from starskip.artefacts.storage_for import storage_for
from starskip.errors import StorageError


def test_folder_and_file_url_are_local(tmp_path: Path) -> None:
    expected = LocalStorage(tmp_path)
    assert storage_for(str(tmp_path)) == expected
    assert storage_for(f"file://{tmp_path}") == expected
    assert storage_for(f"file:{tmp_path}") == expected
    assert storage_for("some/folder") == LocalStorage(Path.cwd() / "some/folder")


def test_url_of_a_store_leads_back_to_it(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "a b%20c")
    assert storage_for(storage.url("")) == storage


@pytest.mark.parametrize("url", ["s3://bucket/x", "gs://b", "hdfs://host/x", "S3A://b/x", "abfs:x"])
def test_unknown_scheme_is_refused_by_name(url: str) -> None:
    with pytest.raises(StorageError, match=f"behind {url.split(':')[0]}:") as caught:
        storage_for(url)
    assert caught.value.location == url


@pytest.mark.parametrize("url", ["", "file://host/folder", "file:relative"])
def test_url_that_names_no_folder(url: str) -> None:
    with pytest.raises(StorageError):
        storage_for(url)
