"""Ends of the runs of a night: artefact ``night_runs``, which the report pages show beside the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from starskip.advisor.run.night import NO_TABLE, Night
from starskip.errors import StorageError, printable
from starskip.storage.manifest_log import ListedManifest, ManifestLog, newest_manifest

NIGHT_RUNS = "night_runs"
_KEPT_RUNS = 20
_LONGEST_PROBLEM = 2_000


@dataclass(frozen=True, slots=True)
class NightRun:
    """The end of one run.

    ``problem``: why it ended as failed, None if it did not. ``night_problem``: the part of it beyond tables
    that a gate stopped. ``is_whole``: whether the run was about all of the night's tables.
    ``is_log_missing``: whether it failed since no log held its day.
    """

    run_id: str
    problem: str | None
    night_problem: str | None
    is_whole: bool = True
    is_log_missing: bool = False


def note_run(
    night: Night, problem: str | None, night_problem: str | None, *, is_log_missing: bool = False
) -> None:
    """Publish how the run of ``night`` ended, beside the ends of earlier runs of the same night."""
    former = [each for each in night_runs(night) if each.run_id != night.run_id]
    run = NightRun(
        night.run_id, _bounded(problem), _bounded(night_problem), not night.is_of_some, is_log_missing
    )
    runs = [*former, run]
    # The night's own state must outlive any number of runs for some of its tables.
    state, first_kept = whole_run(runs), len(runs) - _KEPT_RUNS
    runs = [each for at, each in enumerate(runs) if at >= first_kept or each is state]
    night.publish_note(NIGHT_RUNS, night.date_text, {"runs": list(map(asdict, runs))})


def night_runs(night: Night) -> tuple[NightRun, ...]:
    """Return the finished runs of the night, the last one last."""
    chain = night.store.chain(NIGHT_RUNS, night.date_text)
    newest = newest_manifest(chain)
    return _runs_of(chain, newest) if newest else ()


def whole_run(runs: Sequence[NightRun]) -> NightRun | None:
    """Return the run that the state of a night is: the newest one of all its tables, None if there is none.

    A run for some tables, such as one for a table that there is not, says nothing about the night.
    """
    return next((run for run in reversed(runs) if run.is_whole), None)


def failed_run(night: Night) -> NightRun | None:
    """Return the run by which the night counts as failed, None if it does not."""
    run = whole_run(night_runs(night))
    return run if run and run.night_problem else None


@lru_cache(maxsize=1024)
def _runs_of(chain: ManifestLog, newest: ListedManifest) -> tuple[NightRun, ...]:
    part = chain.read(newest.version).parts.get(NO_TABLE)
    try:
        return tuple(_run(each) for each in part.properties["runs"]) if part else ()
    except (KeyError, TypeError) as error:
        raise StorageError(
            f"{NIGHT_RUNS}: its runs are of another version; run that night again", location=NIGHT_RUNS
        ) from error


def _run(item: Mapping[str, Any]) -> NightRun:
    problem, night_problem = item["problem"], item["night_problem"]
    return NightRun(
        str(item["run_id"]),
        _bounded(problem),
        _bounded(night_problem),
        bool(item["is_whole"]),
        bool(item["is_log_missing"]),
    )


def _bounded(text: object) -> str | None:
    return None if text is None else printable(str(text), _LONGEST_PROBLEM)
