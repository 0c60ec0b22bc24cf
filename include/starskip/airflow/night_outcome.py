"""Summarise the end of a night: failed stages, tables stopped by gates, tables with a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starskip.advisor.run.gate_verdicts import GateVerdict, read_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.number_text import some_names

_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class NightOutcome:
    """The outcome of one run for each of its tables.

    ``failed``: task to reason; ``stopped``: the verdicts of tables that a gate stopped, in stage order;
    ``missing``: tables with segments that no gate stopped and that still have no report.
    """

    run_date: str
    failed: Mapping[str, str]
    stopped: tuple[GateVerdict, ...]
    missing: tuple[str, ...]
    reported: tuple[str, ...]

    def problem(self) -> str | None:
        """Return in one sentence why the run must end as failed; None if all went well."""
        stopped = [f"table {table} {words}" for table, words in self._stopped().items()]
        problems = [*self._failures(), *stopped, *self._without_report()]
        if not problems:
            return None
        if len(problems) > _MOST_PROBLEMS:
            problems = [*problems[:_MOST_PROBLEMS], f"and {len(problems) - _MOST_PROBLEMS} more"]
        names = some_names(self.reported, 10)
        reported = f"reports of {names} are published" if self.reported else "no report"
        return f"night of {self.run_date}: {'; '.join(problems)} ({reported})"

    def night_problem(self) -> str | None:
        """Return the problems beyond the tables that a gate stopped, which have lines of their own."""
        return "; ".join([*self._failures(), *self._without_report()]) or None

    def told(self) -> dict[str, Any]:
        """Return the problems for messages: of stages and missing reports, and those of each table."""
        return {"failures": [*self._failures(), *self._without_report()], "tables": self._stopped()}

    def _stopped(self) -> dict[str, str]:
        return {
            each.table: f"{_fate(each)} check_{each.stage}: {failed_check(each)}" for each in self.stopped
        }

    def _failures(self) -> list[str]:
        return [f"{task} failed: {reason}" for task, reason in self.failed.items()]

    def _without_report(self) -> list[str]:
        return [f"table {table} has no report" for table in self.missing]


def night_outcome(
    night: Night, failed: Mapping[str, str], succeeded: Callable[[str, str], bool]
) -> NightOutcome:
    """Return how the night ended.

    ``failed``: the tasks of this run that failed, with their reasons. ``succeeded``: whether a task of this
    run succeeded for a table; others may have left verdicts and reports in an earlier run of the same night.
    """
    stopped: dict[str, GateVerdict] = {}
    for verdict in read_verdicts(night):
        is_of_run = night.wants(verdict.table) and succeeded(f"check_{verdict.stage}", verdict.table)
        if is_of_run and not verdict.passed:
            stopped.setdefault(verdict.table, verdict)
    reported = {table for table in _tables(night, "reports") if succeeded("write_report", table)}
    known = _tables(night, "table_facts") | _tables(night, "damaged_segments")
    missing = set() if failed else known - reported - stopped.keys()
    return NightOutcome(
        night.date_text,
        failed,
        tuple(stopped.values()),
        tuple(sorted(missing)),
        tuple(sorted(table for table in reported if not _is_unreported(stopped.get(table)))),
    )


def _is_unreported(verdict: GateVerdict | None) -> bool:
    return verdict is not None and stage_named(verdict.stage).stops_report


def _fate(verdict: GateVerdict) -> str:
    return "was stopped by" if _is_unreported(verdict) else "did not pass"


def failed_check(verdict: GateVerdict) -> str:
    """Return the first failed check, in words, and how many more there are."""
    failed = [check for check in verdict.checks if not check.success]
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"{failed[0].check}: found {failed[0].observed}, expected {failed[0].expected}{more}"


def _tables(night: Night, artefact: str) -> set[str]:
    snapshot = night.store.snapshot(artefact, night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return {table for table, part in parts.items() if night.wants(table) and not part.properties.get(FAILED)}
