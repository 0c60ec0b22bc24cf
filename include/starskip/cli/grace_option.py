"""Option ``--grace-hours`` of commands that vacuum."""

from __future__ import annotations

from typing import Any

import click

from starskip.settings import Settings
from starskip.settings.written_number import written_number

GRACE_HOURS = float(Settings().retention.vacuum_grace_hours)
_MOST_HOURS = 24 * 3650
"""Ten years: what calendars can count back."""


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


of_grace = click.option(
    "--grace-hours",
    type=_Hours(),
    default=GRACE_HOURS,
    show_default=True,
    metavar="HOURS",
    help="Keep what was replaced in the last hours: readers and writers may still use it.",
)
