"""Option ``--grace-hours`` of commands that vacuum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from starskip.settings.written_number import written_number

F = TypeVar("F", bound=Callable[..., Any])

_MOST_HOURS = 24 * 3650
"""Ten years: what calendars can count back."""


def grace_option(default: float, help_text: str) -> Callable[[F], F]:
    """Return the option, whose value is a number of hours from 0 to ten years; ``2d`` is another form."""
    return click.option(
        "--grace-hours",
        type=_Hours(),
        default=default,
        show_default=True,
        metavar="HOURS",
        help=help_text,
    )


class _Hours(click.ParamType[float]):
    """A number of hours, or a time such as ``90min``, ``24h`` or ``7d``."""

    name = "hours"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the hours."""
        try:
            hours = written_number(str(value), "hours", is_whole=False)
        except ValueError:
            hours = -1
        if not 0 <= hours <= _MOST_HOURS:
            self.fail(
                f"{value!r} is no number of hours from 0 to {_MOST_HOURS:,}, and no time such as 24h or 7d",
                param,
                ctx,
            )
        return hours
