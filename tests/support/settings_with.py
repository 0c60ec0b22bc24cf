"""Settings for tests, by the names inside of their groups, of which no two are the same."""

from __future__ import annotations

from typing import Any

from starskip.advisor.families.family_settings import family_defaults
from starskip.settings import Settings


def settings_document(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return ``settings`` as a configuration file holds them."""
    document: dict[str, dict[str, Any]] = {}
    for declared, value in settings.items():
        document.setdefault(declared.group, {})[declared.name] = "none" if value is None else value
    return document


def settings_with(settings: Settings | None = None, /, **values: Any) -> Settings:
    """Return ``settings``, by default the defaults, with other values: ``settings_with(max_indexes=1)``."""
    base = settings or family_defaults()
    places = {declared.name: declared.place for declared, _ in base.items()}
    return base.changed({places[name]: value for name, value in values.items()})
