from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import StorageError
from starskip.storage.manifest import DataFile, Manifest, Part, manifest_bytes, manifest_from_bytes

any_text = st.text(st.characters())  # lone surrogates and control characters too: names come from logs
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
files = st.builds(DataFile, any_text, st.integers(0), st.none() | st.integers(0), st.none() | any_text)
parts = st.builds(
    Part, st.lists(files, max_size=3).map(tuple), st.dictionaries(any_text, plain_json, max_size=3)
)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
manifests = st.builds(
    Manifest,
    version=st.integers(1),
    commit_id=any_text,
    created_at=st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1), timezones=zones),
    created_by=any_text,
    parts=st.dictionaries(any_text, parts, max_size=4),
)
ONE = Manifest(
    7, "id", datetime(2026, 11, 18, tzinfo=UTC), "test", {"t": Part((DataFile("x", 3, 1),), {"k": [1.5]})}
)


@given(manifests)
def test_written_and_read_again_is_the_same(manifest: Manifest) -> None:
    content = manifest_bytes(manifest)
    assert manifest_from_bytes(content, location="m") == manifest
    assert manifest_bytes(manifest_from_bytes(content, location="m")) == content


@given(manifests)
def test_order_of_parts_and_properties_does_not_show(manifest: Manifest) -> None:
    turned = {
        table: Part(part.files, dict(reversed(part.properties.items())))
        for table, part in reversed(manifest.parts.items())
    }
    other = Manifest(manifest.version, manifest.commit_id, manifest.created_at, manifest.created_by, turned)
    assert manifest_bytes(other) == manifest_bytes(manifest)


@given(st.data())
def test_any_damage_is_noticed_and_named(data: st.DataObject) -> None:
    content = bytearray(manifest_bytes(ONE))
    position = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["flip", "cut", "double"])):
        case "flip":
            content[position] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[position:]
        case "double":
            content[position:position] = content[position : position + 1]
    with pytest.raises(StorageError, match="queries/2026-11-18/manifests/7") as caught:
        manifest_from_bytes(bytes(content), location="queries/2026-11-18/manifests/7")
    assert caught.value.location == "queries/2026-11-18/manifests/7"


@given(st.binary(max_size=200) | plain_json.map(lambda value: json.dumps(value).encode()))
def test_what_never_was_a_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(StorageError):
        manifest_from_bytes(content, location="m")


def test_deep_nesting_is_damage_not_a_crash() -> None:
    with pytest.raises(StorageError, match="damaged"):
        manifest_from_bytes(b"[" * 1_000_000, location="m")


def test_format_of_a_later_version_is_refused_by_number() -> None:
    document = json.loads(manifest_bytes(ONE)) | {"format_version": 2}
    with pytest.raises(StorageError, match="manifest format 2 is not the format 1"):
        manifest_from_bytes(json.dumps(document).encode(), location="m")


@pytest.mark.parametrize("value", [(1, 2), {1: "a"}, float("nan"), float("inf")])
def test_properties_that_would_not_come_back_are_refused(value: object) -> None:
    part = Part((), {"k": value})
    with pytest.raises(ValueError, match=r"JSON|float"):
        manifest_bytes(Manifest(1, "id", ONE.created_at, "test", {"t": part}))


def test_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        manifest_bytes(Manifest(1, "id", datetime(2026, 11, 18), "test", {}))
