"""``--set GROUP.NAME=VALUE``: one setting by name."""

from __future__ import annotations

import click


def named_setting(text: str) -> tuple[str, str]:
    """Return name and value; raises click.BadParameter for a text of another form."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not GROUP.NAME=VALUE", param_hint="--set")
    return name, value
