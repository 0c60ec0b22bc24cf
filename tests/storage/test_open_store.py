"""Sources of keys; no message holds one."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.exceptions import BaseError
from starskip.errors import SourceError
from starskip.storage.files.object_failure import object_failure
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url
from starskip.storage.files.open_file import open_file
from starskip.storage.files.open_store import aws_key_file

FILE = """
[default]
aws_access_key_id = default-key
aws_secret_access_key = default-%SECRET

[night]
aws_access_key_id = writer-key
aws_secret_access_key = writer-SECRET
"""


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "credentials"
    path.write_text(FILE)
    return path


def test_keys_of_a_file(s3: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_text("x")
    place = s3.upload(tmp_path, s3.fresh_url())
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(key_file))
    monkeypatch.setenv("AWS_PROFILE", "night")
    assert open_file(f"{place}/a.log").read() == b"x"
    monkeypatch.delenv("AWS_PROFILE")
    with pytest.raises(SourceError, match="the store refuses the credentials"):
        open_file(f"{place}/a.log")


def test_file_of_the_home_folder_is_used_if_it_is_there(key_file: Path, tmp_path: Path) -> None:
    assert aws_key_file({"HOME": str(tmp_path)}) == {}
    (tmp_path / ".aws").mkdir()
    key_file.rename(tmp_path / ".aws" / "credentials")
    found = aws_key_file({"HOME": str(tmp_path)})
    assert found == {"access_key_id": "default-key", "secret_access_key": "default-%SECRET"}
    assert aws_key_file({"HOME": str(tmp_path), "AWS_PROFILE": "other"}) == {}
    assert aws_key_file({}) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"[other]\naws_secret_access_key = SECRET\n", r"has no profile \[default\]"),
        (b"SECRET without a section", "is no file of AWS credentials"),
        (b"\xff\xfeSECRET", "is no file of AWS credentials"),
    ],
)
def test_named_file_that_cannot_be_used(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=message) as caught:
        aws_key_file({"AWS_SHARED_CREDENTIALS_FILE": str(path)})
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("AWS_ENDPOINT_URL", "http://id:SECRET@127.0.0.1:1", "AWS_ENDPOINT_URL holds a user or password"),
        ("AWS_ENDPOINT_URL", "SECRET is no URL", "is no URL of a server"),
        ("AWS_CONDITIONAL_PUT", "SECRET", "settings of the store in the environment cannot be used"),
    ],
)
def test_settings_that_cannot_be_used(
    name: str, value: str, message: str, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match=message) as caught:
        open_file(s3.url("a.log"))
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "given", "message"),
    [
        ("az://night/a.log", {}, "no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://night/a.log", {"AZURE_STORAGE_ACCOUNT_KEY": "not SECRET"}, "the settings of the store"),
        (
            "az://night/a.log",
            {"AZURE_STORAGE_ENDPOINT": "http://id:SECRET@a"},
            "AZURE_STORAGE_ENDPOINT holds a user or password",
        ),
        ("gs://night/a.log", {"GOOGLE_BASE_URL": "SECRET"}, "GOOGLE_BASE_URL is no URL of a server"),
        ("gs://night/a.log", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"SECRET": 1}'}, "the settings of the store"),
    ],
)
def test_settings_of_other_clouds_that_cannot_be_used(
    url: str, given: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    if given:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "lake")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match=message) as caught:
        open_file(url)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("169.254.169.254/latest/api/token", "AWS_ACCESS_KEY_ID"),
        ("metadata.google.internal/computeMetadata/v1/instance", "GOOGLE_SERVICE_ACCOUNT"),
        ("169.254.169.254/metadata/identity/oauth2/token", "AZURE_STORAGE_ACCOUNT_KEY"),
    ],
)
def test_missing_credentials_are_those_of_the_cloud(asked: str, named: str) -> None:
    failure = object_failure(BaseError(f"Error performing GET http://{asked} in 1 ms"))
    assert failure.sentence.startswith(f"no credentials are found: set {named}")


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
