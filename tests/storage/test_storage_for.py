from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from starskip.errors import StorageError
from starskip.storage.files.object_url import ObjectUrl
from starskip.storage.local_storage import LocalStorage
from starskip.storage.object_storage import ObjectStorage
from starskip.storage.storage_for import storage_for


def test_folder_and_file_url_are_local(tmp_path: Path) -> None:
    expected = LocalStorage(tmp_path)
    assert storage_for(str(tmp_path)) == expected
    assert storage_for(f"file://{tmp_path}") == expected
    assert storage_for(f"file:{tmp_path}") == expected
    assert storage_for("some/folder") == LocalStorage(Path.cwd() / "some/folder")


def test_url_of_a_store_leads_back_to_it(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "a b%20c")
    assert storage_for(storage.place) == storage


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("s3://bucket/some/folder/", ObjectUrl("s3", "bucket", "some/folder")),
        ("S3A://bucket", ObjectUrl("s3", "bucket", "")),
        ("gs://bucket/a b%20c", ObjectUrl("gs", "bucket", "a b%20c")),
        ("az://container/x", ObjectUrl("az", "container", "x")),
    ],
)
def test_buckets_are_named_by_url_and_travel_by_it(url: str, root: ObjectUrl) -> None:
    storage = storage_for(url)
    assert storage == ObjectStorage(root)
    assert storage_for(storage.place) == storage
    assert pickle.loads(pickle.dumps(storage)) == storage


@pytest.mark.parametrize("url", ["hdfs://host/x", "abfs:x", "https://host/bucket"])
def test_unknown_scheme_is_refused_by_name(url: str) -> None:
    with pytest.raises(StorageError, match=f"{url.split(':')[0]}:"):
        storage_for(url)


@pytest.mark.parametrize("url", ["s3://id:SECRET@bucket/x", "s3://id:SEC/RET@bucket/x", "s3://SECRET@bucket"])
def test_url_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(StorageError, match="user, password or port") as caught:
        storage_for(url)
    assert "SEC" not in f"{caught.value} {caught.value.location} {caught.value!r}"


@pytest.mark.parametrize("url", ["", "file://host/folder", "file:relative", "s3://", "s3:///key"])
def test_url_that_names_no_folder(url: str) -> None:
    with pytest.raises(StorageError):
        storage_for(url)


@pytest.mark.parametrize("url", ["s3://bucket/a/../b", "s3://bucket/a//b", "s3://bucket/./a"])
def test_folder_of_a_bucket_that_climbs_or_misleads(url: str) -> None:
    with pytest.raises(StorageError, match="no name that a store may hold"):
        storage_for(url)


@pytest.mark.parametrize(
    "url",
    ["jdbc:postgresql://u:SECRET@h/x", "s3:u:SECRET@h/x", "S3:/u:SECRET@h/x", "file://u:SECRET@h/x"],
)
def test_what_may_hold_a_password_is_not_repeated_whatever_it_is(url: str) -> None:
    with pytest.raises(StorageError) as caught:
        storage_for(url)
    assert "SECRET" not in f"{caught.value} {caught.value.location} {caught.value!r}"
