"""Mark progress lines in a task's log, so that they stand out from the lines of Airflow and Spark."""

from __future__ import annotations

import click

from starskip.errors import printable

_MARK = "starskip | "


def show_progress(text: str) -> None:
    """Print ``text`` on one marked line of the task's log."""
    click.echo(_MARK + printable(text, 2000))


def progress_text(line: str) -> str | None:
    """Return the text of a run's output line that ``show_progress`` printed, None for any other line."""
    return line.removeprefix(_MARK).rstrip("\n") if line.startswith(_MARK) else None
