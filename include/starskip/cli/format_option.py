"""The option ``--format``: how a command prints its results; for tables also what they are kept as."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from starskip.cli.choice import Choice

F = TypeVar("F", bound=Callable[..., Any])


def format_option(*outputs: str, note: str = "") -> Callable[[F], F]:
    """Return the option, whose value is called ``output``; by default text, the default, or json."""
    choices = outputs or ("text", "json")
    words = f"How results are printed.{note}"
    return click.option(
        "--format", "output", type=Choice(choices), default=choices[0], show_default=True, help=words
    )


def output_or_table_format(*outputs: str, tables: Sequence[str]) -> Callable[[F], F]:
    """Return the option of a command whose output and whose table both have formats.

    Its value is called ``formats``, an output and the table's format, None if that is not given.
    """
    of_tables = [each for each in tables if each not in outputs]
    return click.option(
        "--format",
        "formats",
        multiple=True,
        type=Choice([*outputs, *of_tables]),
        callback=lambda _context, _option, given: (
            next((each for each in reversed(given) if each in outputs), outputs[0]),
            next((each for each in reversed(given) if each not in outputs), None),
        ),
        help=f"How results are printed, {' or '.join(outputs)} ({outputs[0]} by default), or the table's "
        "format, detected if left out; repeatable.",
    )


def echo_result(output: str, document: Any, text: Callable[[], str]) -> None:
    """Print a result: ``document`` as JSON, or the text of it for people."""
    click.echo(json.dumps(document) if output == "json" else text())
