"""``--log`` and ``--segments``, what commands on Pinot's tables read, and ``--output``, where they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def log_option(more: str = "", *, required: bool = False) -> Callable[[F], F]:
    """Return the option, whose values are called ``logs``; ``more``: further words of its help."""
    words = f"Log files, folders or globs.{more}"
    kind, names = click.Path(), ("--log", "logs")
    return click.option(*names, multiple=True, required=required, metavar="PATH...", type=kind, help=words)


def segments_option(*, required: bool = False) -> Callable[[F], F]:
    """Return the option."""
    # For click a default of None is a value, too.
    default: dict[str, Any] = {} if required else {"default": ""}
    return click.option(
        "--segments",
        **default,
        required=required,
        metavar="DIR",
        type=click.Path(),
        help="Folder of tableNameWithoutType/*.tar.gz.",
    )


def output_option(metavar: str, help_text: str, *others: str, **options: Any) -> Callable[[F], F]:
    """Return the option, whose value is called ``target``; ``others``: further names of it."""
    names = ("-o", "--output", *others, "target")
    return click.option(*names, metavar=metavar, help=help_text, type=click.Path(), **options)
