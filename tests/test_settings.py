from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from starskip.errors import ConfigError
from starskip.settings import Settings, environment_overrides, settings_environment, with_overrides


def test_the_later_one_wins_if_it_is_present_and_zero_is_present() -> None:
    base = Settings(min_gain_ratio=0.5, show_literals=True)
    found = with_overrides(
        base, {"min_gain_ratio": 0, "show_literals": False, "max_indexes": None}, origin="x"
    )
    assert (found.min_gain_ratio, found.show_literals, found.max_indexes) == (0.0, False, base.max_indexes)
    assert with_overrides(base, {}, origin="x") == base


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_indexes", "3", 3),
        ("max_indexes", "3.0", 3),
        ("min_gain_ratio", "0.25", 0.25),
        ("show_literals", "TRUE", True),
        ("show_literals", "no", False),
        ("show_literals", 1, True),
        ("strategy", "parser", "parser"),
        ("pinot_version", 0.11, "0.11"),
    ],
)
def test_texts_of_files_and_environments_are_converted(name: str, text: Any, value: Any) -> None:
    found = getattr(with_overrides(Settings(), {name: text}, origin="x"), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_indexes", "three"),
        ("max_indexes", "2.5"),
        ("max_indexes", "inf"),
        ("max_indexes", 0),
        ("max_indexes", -1),
        ("max_indexes", [1]),
        ("min_gain_ratio", "nan"),
        ("min_gain_ratio", 1.01),
        ("min_gain_ratio", "-0.1"),
        ("show_literals", "perhaps"),
        ("strategy", "guess"),
        ("no_such_setting", 1),
    ],
)
def test_a_wrong_setting_is_named_on_one_line(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        with_overrides(Settings(), {name: value}, origin="settings.yaml")
    assert refused.value.setting == name
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_our_own_names_are_taken_from_the_environment() -> None:
    environment = {"STARSKIP_MAX_INDEXES": "3", "STARSKIP_OTHER": "x", "MAX_INDEXES": "4", "PATH": "/"}
    assert environment_overrides(environment) == {"max_indexes": "3"}


def test_settings_that_travel_in_an_environment_arrive() -> None:
    plain = Settings()
    texts = {item.name: str(getattr(plain, item.name)) for item in fields(plain)}
    assert environment_overrides({**settings_environment(texts), "PATH": "/"}) == texts


def test_defaults_are_valid_and_survive_their_own_texts() -> None:
    plain = Settings()
    texts = {item.name: str(getattr(plain, item.name)) for item in fields(plain)}
    assert with_overrides(plain, texts, origin="x") == plain
