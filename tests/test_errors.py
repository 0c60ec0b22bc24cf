from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import (
    BAD_INPUT,
    TRY_AGAIN,
    CapExceeded,
    CommitConflict,
    ConfigError,
    SourceError,
    SourceOutage,
    StarskipError,
    StorageError,
    StorageOutage,
    UnsupportedQuery,
    exit_code,
    first_line,
    printable,
    some_of,
)


@given(text=st.text(max_size=700))
def test_any_text_becomes_one_bounded_printable_line(text: str) -> None:
    line = printable(text)
    assert line.isprintable()
    assert len(line) <= 500
    assert str(StarskipError(text)) == line


@given(text=st.text(st.characters(categories=["L", "N", "P"]), max_size=400))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb", "a\\nb"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202egnp", "\\u202egnp"),
        ("\ud800", "\\ud800"),
        ("x" * 501, "x" * 499 + "…"),
    ],
)
def test_what_could_forge_a_line_is_escaped(text: str, line: str) -> None:
    assert printable(text) == line


@pytest.mark.parametrize(
    ("error", "field", "value"),
    [
        (SourceError("m", source="t"), "source", "t"),
        (UnsupportedQuery("m", reason="syntax"), "reason", "syntax"),
        (StorageError("m", location="/x"), "location", "/x"),
        (ConfigError("m", setting="k"), "setting", "k"),
    ],
)
def test_errors_carry_their_data(error: StarskipError, field: str, value: str) -> None:
    assert isinstance(error, StarskipError)
    assert getattr(error, field) == value
    assert str(error) == "m"


def test_all_are_of_one_family() -> None:
    assert issubclass(CommitConflict, StarskipError)
    assert issubclass(CapExceeded, StarskipError)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StorageOutage("m", location="/x"), TRY_AGAIN),
        (SourceOutage("m", source="t"), TRY_AGAIN),
        (CommitConflict("m"), TRY_AGAIN),
        (StorageError("m", location="/x"), BAD_INPUT),
        (SourceError("m", source="t"), BAD_INPUT),
        (StarskipError("m"), BAD_INPUT),
    ],
)
def test_exit_code_tells_whether_a_retry_may_help(error: StarskipError, code: int) -> None:
    assert exit_code(error) == code
    assert isinstance(StorageOutage("m", location="/x"), StorageError)
    assert StorageOutage("m", location="/x").location == "/x"
    assert SourceOutage("m", source="t").source == "t"


def test_the_first_line_of_a_librarys_error_is_printable_and_never_missing() -> None:
    assert first_line(ValueError("a\x1b[2J b\nc")) == "a\\x1b[2J b"
    assert first_line(ValueError()) == first_line(ValueError("")) == "ValueError"
    assert first_line(ValueError("x" * 900), 300) == "x" * 299 + "…"


def test_of_many_names_the_most_alike_are_told_first() -> None:
    names = [f"events_{number:03}" for number in range(199)]
    assert some_of([*names, "lineitem"], "lineitm").startswith("lineitem, events_000, events_001, ")
    assert some_of([*names, "lineitem"], "lineitm").endswith("events_006 and 192 more")
    assert some_of(["b", "a"]) == some_of(["b", "a"], "nothing like them") == "a, b"
    assert some_of(["a\nb"]) == "a\\nb"
