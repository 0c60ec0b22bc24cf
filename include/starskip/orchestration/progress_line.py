"""One line a step for the person who watches a night, told apart from Airflow's and Spark's own lines."""

from __future__ import annotations

import click

from starskip.errors import printable

_MARK = "starskip | "


def show_progress(text: str) -> None:
    """Print ``text`` on one marked line of the task's log."""
    click.echo(_MARK + printable(text, 2000))


def progress_text(line: str) -> str | None:
    """Return what a line of a run's output says if ``show_progress`` printed it, else None."""
    return line.removeprefix(_MARK).rstrip("\n") if line.startswith(_MARK) else None
