from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import SourceError
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url


@pytest.mark.parametrize(
    "text",
    ["logs/a.log", "/var/log/x", "", "a:b.log", "C:x", "file:///var/log", "broker-2026-11-18T10:00.log"],
)
def test_paths_of_this_machine(text: str) -> None:
    assert object_url(text) is None


def test_file_urls_are_taken_literally() -> None:
    assert local_path("file:///var/log/a%20b") == local_path("file:/var/log/a%20b") == Path("/var/log/a%20b")
    assert local_path("logs/a.log") == Path("logs/a.log")


@given(
    st.sampled_from(["s3", "gs", "az"]),
    st.text("abcz09.-", min_size=3, max_size=20),
    st.text(min_size=1).filter(lambda key: key == key.strip("/")),
)
def test_url_and_back(scheme: str, bucket: str, key: str) -> None:
    url = ObjectUrl(scheme, bucket, key)
    assert object_url(str(url)) == url
    assert object_url(str(url._replace(key=""))) == url._replace(key="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s3://id:SECRET@bucket/x", "holds a user, password or port"),
        ("s3://:SECRET@bucket/x", "holds a user, password or port"),
        ("https://bucket.example/x?X-Amz-Signature=SECRET", "https://… is not known here"),
        ("ftp://id:SECRET@host/x", "ftp://… is not known here"),
        ("s3:///SECRET", "names no bucket"),
        ("s3:id:SECRET@bucket/x", "s3: without // is neither a path nor a URL"),
        ("S3A:/id:SECRET@bucket/x", "S3A: without //"),
    ],
)
def test_what_is_refused_is_not_repeated_where_it_may_hold_a_password(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        object_url(text)
    assert "@" not in text or "SECRET" not in f"{caught.value!r} {caught.value.source}"
