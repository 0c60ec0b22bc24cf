"""Sizes, shares and times as people write them, and the laws of printing and reading them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.number_text import percent, size
from starskip.settings.written_number import number_words, written_number

SIZES = st.integers(0, 10**17)
SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("10MB", "bytes", 10_000_000),
        ("10 mb", "bytes", 10_000_000),
        ("10MiB", "bytes", 10 << 20),
        ("1.59 MB", "bytes a table", 1_590_000),
        ("0.3333 kB", "bytes", 333),
        ("4,096", "bytes", 4_096),
        (" 2T ", "bytes", 2 * 10**12),
        ("1e3 kB", "bytes", 10**6),
        ("3M", "queries", 3_000_000),
        ("1 day", "hours", 24),
        ("2500 ms", "seconds a table", 2.5),
        ("12.5%", "share", 0.125),
    ],
)
def test_forms_that_people_write(text: str, unit: str, value: float) -> None:
    assert written_number(text, unit, is_whole=isinstance(value, int)) == value


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("MB", "bytes"),
        ("", "bytes"),
        ("10 MBB", "bytes"),
        ("1,00", "bytes"),
        ("10,0000", "bytes"),
        ("5%", "bytes"),
        ("5%", "queries"),
        ("1 kB", "queries"),
        ("0.5", "queries"),
        ("1,000", "share"),
        ("5%%", "share"),
        ("0,5%", "share"),
        ("3 MB", "hours"),
        ("90 min", "hours"),
        ("1" * 100 + "k", "bytes"),
        ("1\n2 MB", "bytes"),
    ],
)
def test_what_is_no_number_of_the_unit_is_refused(text: str, unit: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        written_number(text, unit, is_whole=unit != "share")


@given(SIZES)
def test_a_size_is_read_back_as_it_is_printed(size_bytes: int) -> None:
    assert written_number(number_words(size_bytes, "bytes"), "bytes", is_whole=True) == size_bytes
    rounded = written_number(size(size_bytes), "bytes", is_whole=True)
    assert abs(rounded - size_bytes) <= 0.005 * size_bytes


@given(SHARES)
def test_a_share_is_read_back_as_it_is_printed(ratio: float) -> None:
    assert written_number(number_words(ratio, "share"), "share", is_whole=False) == ratio
    assert abs(written_number(percent(ratio), "share", is_whole=False) - ratio) <= 0.001


@given(st.integers(0, 10**15))
def test_a_plain_number_means_itself_in_every_unit(number: int) -> None:
    for unit in ("bytes", "queries", "hours"):
        assert written_number(str(number), unit, is_whole=True) == number
        assert written_number(f"{number:,}", unit, is_whole=True) == number
        assert written_number(f"{number:_}", unit, is_whole=True) == number
