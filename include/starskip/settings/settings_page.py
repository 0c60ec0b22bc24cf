"""The page of all settings, in Markdown: a table for each group, out of the declarations."""

from __future__ import annotations

from starskip.settings.declared import Declared
from starskip.settings.group import SettingsGroup, declared_settings
from starskip.settings.setting_value import allowed_values, value_text
from starskip.settings.settings import Settings

_HEAD = """# Settings

Each setting belongs to a group. A later place overrides an earlier one; settings that it does not give stay:

| place | form |
|---|---|
| the night's configuration | `settings: {advice: {max_indexes: 3}}` |
| environment | `STARSKIP_ADVICE__MAX_INDEXES=3` |
| `starskip stage` and `tune` | `--set advice.max_indexes=3` |
| trigger form of Airflow, for the settings marked ◦ | a field, or `--conf '{"advice.max_indexes": 3}'` |

A value that is not allowed is refused with one line; none is corrected. This page is generated:
`make settings-page`.
"""
_COLUMNS = "| setting | default | unit | what | allowed | source |\n|---|---|---|---|---|---|\n"


def settings_page(settings: Settings) -> str:
    """Return the page of the groups of ``settings``."""
    return "\n".join([_HEAD, *(_section(type(group)) for group in settings.groups)])


def _section(group: type[SettingsGroup]) -> str:
    return f"## {group.group}\n\n{group.heading}.\n\n{_COLUMNS}" + "".join(
        map(_row, declared_settings(group))
    )


def _row(declared: Declared) -> str:
    facts = declared.facts
    default = value_text(declared.default)
    cells = (
        f"`{declared.name}`" + (" ◦" if facts.title else ""),
        f"`{default}`" if default else "",
        facts.unit,
        facts.help,
        allowed_values(declared),
        facts.source,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
