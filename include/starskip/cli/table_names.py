"""``--tables a,b``: the tables that a command works on."""

from __future__ import annotations

import click

from starskip.errors import printable
from starskip.night.listed_tables import listed_tables
from starskip.storage.files.path_text import path_text


def table_names(text: str) -> tuple[str, ...]:
    """Return the names in a list by commas, each once, in its order; raises click.BadParameter."""
    if path_text(text) != text:
        raise click.BadParameter(f"{printable(text, 80)} is no UTF-8 text", param_hint="--tables")
    return listed_tables(text)
