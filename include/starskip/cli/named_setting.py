"""``--set NAME=VALUE``: one setting, told by name."""

from __future__ import annotations

import click


def named_setting(text: str) -> tuple[str, str]:
    """Return name and value; raises click.BadParameter for a text of another form."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    return name, value
