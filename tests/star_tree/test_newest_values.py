"""The values asked for last are kept, in their room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starskip.star_tree.newest_values import NewestValues


def test_the_oldest_makes_room_and_asking_makes_new() -> None:
    kept: NewestValues[str, int] = NewestValues(3)
    for number, key in enumerate("abc"):
        kept.keep(key, number)
    assert kept.get("a") == 0
    kept.keep("d", 3)
    assert [kept.get(key) for key in "abcd"] == [0, None, 2, 3]


def test_what_is_larger_than_the_room_pushes_nothing_out() -> None:
    kept: NewestValues[str, str] = NewestValues(10)
    kept.keep("small", "s", 10)
    kept.keep("large", "l", 11)
    assert (kept.get("small"), kept.get("large"), kept.held) == ("s", None, 10)


def test_a_key_keeps_its_first_value_and_counts_once() -> None:
    kept: NewestValues[str, int] = NewestValues(10)
    kept.keep("a", 1, 4)
    kept.keep("a", 2, 6)
    assert (kept.get("a"), kept.held) == (1, 4)


@given(
    room=st.integers(0, 12),
    asked=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6), st.booleans()), max_size=60),
)
def test_it_holds_the_longest_row_of_newest_values_that_fits(
    room: int, asked: list[tuple[int, int, bool]]
) -> None:
    kept: NewestValues[int, int] = NewestValues(room)
    model: list[tuple[int, int]] = []
    for key, size, is_get in asked:
        held = [item for item in model if item[0] == key]
        if is_get:
            assert kept.get(key) == (held[0][1] if held else None)
            model = [item for item in model if item[0] != key] + held
        elif not held and size <= room:
            model.append((key, size))
            while sum(item[1] for item in model) > room:
                model.pop(0)
        if not is_get:
            kept.keep(key, size, size)
        assert kept.held == sum(item[1] for item in model) <= room
