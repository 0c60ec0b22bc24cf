from __future__ import annotations

import pytest
from starskip.pinot.target_version import release_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.11", (0, 11)), ("0.11.0", (0, 11)), ("1.2.0-SNAPSHOT", (1, 2)), ("0.7.1-ui-fix", (0, 7))],
)
def test_the_first_two_numbers_tell_the_release(text: str, number: tuple[int, int]) -> None:
    assert release_number(text) == number


def test_ten_comes_after_nine() -> None:
    assert release_number("0.9.3") < release_number("0.10.0") < release_number("1.0.0")
