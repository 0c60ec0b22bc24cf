"""The option ``--output``, short ``-o``, of commands that write files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def output_option(metavar: str, help_text: str, *others: str, **options: Any) -> Callable[[F], F]:
    """Return the option, whose value is called ``target``; ``others``: further names of it."""
    names = ("-o", "--output", *others, "target")
    return click.option(*names, metavar=metavar, help=help_text, type=click.Path(), **options)
