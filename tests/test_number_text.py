from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip import number_text


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number_text.count(256_205_145), "256,205,145"),
        (number_text.compact_count(0), "0"),
        (number_text.compact_count(999), "999"),
        (number_text.compact_count(999_999), "1 M"),
        (number_text.compact_count(256_205_145), "256 M"),
        (number_text.compact_count(1_500), "1.5 k"),
        (number_text.size(655_676), "656 kB"),
        (number_text.size(1_593_800), "1.59 MB"),
        (number_text.size(0), "0 B"),
        (number_text.size(None), "unknown"),
        (number_text.size_share(655_676, 20_093_570), "656 kB (3.3 %)"),
        (number_text.size_share(655_676, None), "656 kB"),
        (number_text.size_share(None, 20_093_570), "unknown"),
        (number_text.percent(0.5955), "59.6 %"),
        (number_text.percent(-0.0009), "−0.1 %"),
        (number_text.percent(-0.0001), "0.0 %"),
        (number_text.percent(0.99996), "99.9 %"),
        (number_text.percent(1.0), "100.0 %"),
        (number_text.percent(0.999, 0), "99 %"),
        (number_text.fine_percent(0.5955), "59.6 %"),
        (number_text.fine_percent(0.0996), "10.0 %"),
        (number_text.fine_percent(0.00996), "1 %"),
        (number_text.fine_percent(0.00147), "0.15 %"),
        (number_text.fine_percent(0.0000034), "0.00034 %"),
        (number_text.fine_percent(1e-12), "under 0.000001 %"),
        (number_text.fine_percent(0.0), "0.0 %"),
        (number_text.fine_percent(0.99999), "99.9 %"),
        (number_text.mean_count(1.6666666), "1.67"),
        (number_text.mean_count(0.0), "0"),
        (number_text.mean_count(1_995.5), "1,996"),
        (number_text.mean_count(None), "–"),
        (number_text.percent_range(0.55, 0.63), "55–63 %"),
        (number_text.percent_range(-0.02, 0.03), "−2 to 3 %"),
        (number_text.milliseconds(3.21), "3.21 ms"),
        (number_text.milliseconds(12_400), "12.4 s"),
        (number_text.milliseconds(425_000), "7.08 min"),
        (number_text.milliseconds(10_800_000), "3.0 h"),
        (number_text.decimal(None), "–"),
        (number_text.count(None), "–"),
        (number_text.compact_count(None), "–"),
        (number_text.milliseconds(None), "–"),
        (number_text.decimal(-18.44), "−18.4"),
    ],
)
def test_number_as_people_read_it(shown: str, expected: str) -> None:
    assert shown == expected


@given(st.floats(0, 1e17))
def test_compact_counts_stay_short_and_plain(value: float) -> None:
    text = number_text.compact_count(value)
    assert len(text) <= 6
    assert "e" not in text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.6312, "63 %"),
        (0.0949, "9.5 %"),
        (0.0463, "4.6 %"),
        (0.00021, "0.021 %"),
        (-0.0011, "−0.1 %"),
        (-0.00021, "−0.021 %"),
        (0.0, "0.0 %"),
        (0.9999, "99 %"),
    ],
)
def test_share_of_a_sentence(ratio: float, text: str) -> None:
    assert number_text.share(ratio) == text


def test_what_is_saved_is_never_less_than_nothing() -> None:
    words = [number_text.saves(each) for each in (0.0463, -0.0011, 0.00001, -0.00001)]
    assert words == ["saves 4.6 %", "costs 0.1 %", "saves nothing", "saves nothing"]
