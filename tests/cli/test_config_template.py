"""The configuration that ``starskip settings --format yaml`` prints: whole, and itself accepted."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starskip.advisor.families.family_settings import family_defaults
from starskip.cli.settings import config_template
from starskip.night.configuration.config_document import _NESTED, _PLAIN, config_document
from starskip.night.configuration.night_from_config import NightArguments, night_from_config

AT = datetime(2026, 11, 21, tzinfo=UTC)
ARGUMENTS = NightArguments(AT.date(), "test", AT)


def uncommented(text: str) -> str:
    return re.sub(r"^( *)#(?! \S)", r"\1", text, flags=re.MULTILINE)


@pytest.mark.parametrize("all_keys", [False, True])
def test_it_is_a_night_of_the_defaults(tmp_path: Path, all_keys: bool) -> None:
    text = config_template(family_defaults())
    (tmp_path / "night.yaml").write_text(uncommented(text) if all_keys else text)
    night = night_from_config(tmp_path / "night.yaml", ARGUMENTS, {})
    assert night.settings == family_defaults()
    assert night.log_paths == [str(tmp_path / "logs")]
    assert list(night.lake_tables) == (["orders"] if all_keys else [])


def test_it_has_every_key_and_every_setting(tmp_path: Path) -> None:
    settings = family_defaults()
    (tmp_path / "night.yaml").write_text(uncommented(config_template(settings)))
    document = config_document(str(tmp_path / "night.yaml"))
    assert set(document.values) == {*_NESTED, *_PLAIN}
    assert list(document.mapping("settings")) == [each.place for each, _ in settings.items()]


def test_no_line_is_too_long_to_read() -> None:
    assert max(map(len, config_template(family_defaults()).splitlines())) <= 120
