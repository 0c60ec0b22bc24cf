"""Option ``--grace-hours`` of commands that vacuum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_MOST_HOURS = 24 * 3650
"""Ten years: what calendars can count back."""


def grace_option(default: float, help_text: str, *, metavar: str | None = None) -> Callable[[F], F]:
    """Return the option, whose value is a number of hours from 0 to ten years."""
    return click.option(
        "--grace-hours",
        type=click.FloatRange(0, _MOST_HOURS),
        default=default,
        show_default=True,
        metavar=metavar,
        callback=_number,
        help=help_text,
    )


def _number(_context: click.Context, _option: click.Parameter, hours: float) -> float:
    # The range lets NaN pass.
    if math.isnan(hours):
        raise click.BadParameter("is no number of hours", param_hint="--grace-hours")
    return hours
