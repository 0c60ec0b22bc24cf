"""``--tables a,b`` and ``--table-config``: the tables that a command works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from starskip.errors import printable
from starskip.night.listed_tables import listed_tables
from starskip.storage.files.path_text import path_text

F = TypeVar("F", bound=Callable[..., Any])


def tables_option(all_words: str) -> Callable[[F], F]:
    """Return the option; ``all_words`` say which tables are meant without it."""
    return click.option(
        "--tables", default="", metavar="A,B", help=f"Comma separated tables; {all_words} if left out."
    )


def table_config_option(command: F) -> F:
    """Add the option ``--table-config``, whose files are the parameter ``configs``."""
    return click.option(
        "--table-config",
        "configs",
        multiple=True,
        metavar="FILE...",
        type=click.Path(),
        help="Current table configs.",
    )(command)


def table_names(text: str) -> tuple[str, ...]:
    """Return the names in a list by commas, each once, in its order; raises click.BadParameter."""
    if path_text(text) != text:
        raise click.BadParameter(f"{printable(text, 80)} is no UTF-8 text", param_hint="--tables")
    return listed_tables(text)
