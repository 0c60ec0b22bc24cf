"""Render the page of one run: its night and tables, its settings, its stages, its end, and its reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from starskip.reports.page_links import PageLinks
from starskip.reports.report_lists import RowPage
from starskip.reports.template_environment import rendered_page

_GATE = "check_"
_OVER = ("success", "failed")


@dataclass(frozen=True, slots=True)
class RunTask:
    """One task of a run: its state in Airflow's words, its time so far, and how often it was tried."""

    name: str
    state: str
    seconds: float | None
    tries: int


@dataclass(frozen=True, slots=True)
class RunPage:
    """The contents of the page of a run.

    ``tables``: the tables that the run was asked for, none for all. ``settings``: its settings.
    ``problem``: why it failed, None if it did not or is not over. ``waits_for``: why it does not begin.
    """

    run_id: str
    state: str
    run_date: date
    tables: Sequence[str]
    settings: Mapping[str, str]
    tasks: Sequence[RunTask]
    reports: RowPage
    started_by: str = ""
    problem: str | None = None
    waits_for: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether nothing of the run goes on any more."""
        return self.state in _OVER

    def stages(self) -> list[tuple[RunTask, RunTask | None]]:
        """Return the tasks in their order, each with its gate."""
        gates = {task.name: task for task in self.tasks if task.name.startswith(_GATE)}
        return [(task, gates.get(f"{_GATE}{task.name}")) for task in self.tasks if task.name not in gates]


def render_run(
    links: PageLinks, page: RunPage, *, refreshed: str = "", still: str = "", alarms: Sequence[str] = ()
) -> str:
    """Return the page of a run; ``refreshed`` and ``still``: the addresses that load it anew and do not."""
    return rendered_page(
        "page_run.html.j2",
        links=links,
        run=page,
        night=page.run_date.isoformat(),
        duration=duration,
        refreshed=refreshed,
        still=still,
        alarms=alarms,
    )


def duration(seconds: float | None) -> str:
    """Return a time such as ``1 min 05 s``, empty for none."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
