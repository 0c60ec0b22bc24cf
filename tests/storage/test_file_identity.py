from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import SourceError
from starskip.storage.files.file_identity import RACY_NS, FileIdentity, file_identity, is_racy

identities = st.builds(
    FileIdentity,
    st.text(st.characters()),
    st.integers(0, 2**63),
    st.none() | st.integers(-(2**63), 2**63),
    st.none() | st.text(st.characters()),
)


@given(identities)
def test_text_and_back_is_the_same(identity: FileIdentity) -> None:
    text = identity.to_text()
    assert FileIdentity.from_text(text) == identity
    assert text.isascii()
    assert text.isprintable()


@given(identities, identities)
def test_equal_text_means_equal_identity(one: FileIdentity, other: FileIdentity) -> None:
    assert (one.to_text() == other.to_text()) == (one == other)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1,2,3]", "3", "nonsense", "[" * 100_000])
def test_text_that_is_no_identity(text: str) -> None:
    with pytest.raises(ValueError, match="not a file identity"):
        FileIdentity.from_text(text)


@pytest.mark.parametrize(
    ("age_ns", "racy"),
    [(RACY_NS + 1, False), (RACY_NS, False), (RACY_NS - 1, True), (0, True), (-(10**12), True)],
)
def test_modified_within_two_seconds_of_being_read(age_ns: int, racy: bool) -> None:
    read_at_ns = 1_800_000_000_000_000_000
    identity = FileIdentity("x", 1, read_at_ns - age_ns)
    assert is_racy(identity, observed_at_ns=read_at_ns) is racy


def test_etag_is_never_racy_and_nothing_known_always() -> None:
    assert not is_racy(FileIdentity("x", 1, etag="e"), observed_at_ns=0)
    assert is_racy(FileIdentity("x", 1), observed_at_ns=0)


def test_same_size_rewrite_within_the_clock_tick(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one")
    os.utime(path, ns=(10**18, 10**18))
    before = file_identity(path)
    path.write_bytes(b"two")
    os.utime(path, ns=(10**18, 10**18))
    assert file_identity(path) == before, "the case that only the racy rule can catch"
    assert is_racy(before, observed_at_ns=10**18 + 1)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="missing: No such file"):
        file_identity(tmp_path / "missing")
