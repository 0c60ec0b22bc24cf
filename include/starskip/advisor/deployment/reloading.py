"""Reload segments and wait until they are as the config says: judged by the segments, never by counts alone.

Pinot counts a segment as reloaded by its time of loading, and a job's count may never reach its total: clocks
differ, segments come and go. So from 1.3 on the controller is asked whether a reload is still needed, and
before that the servers are asked for the indexes of the segments. What makes no progress is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starskip.advisor.deployment.table_segments import MAX_LOOKED_AT, Wanted, looked_at
from starskip.errors import MissingSource, SourceOutage
from starskip.pinot.cluster.controller import Controller

BAD = "ERROR"
"""State of a segment that a server could not load."""
_POLL_SECONDS = 1.0
_SETTLED_POLLS = 3
_SHOWN = 5


@dataclass(slots=True)
class Waiting:
    """Bounds of waiting: for at most ``seconds``, and for at most ``quiet_seconds`` without progress."""

    seconds: float
    quiet_seconds: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    beat: Callable[[str], None] = field(default=lambda _words: None)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The end of a reload; ``problem`` is empty if all segments are as wanted."""

    seconds: float
    problem: str = ""
    bad_segments: tuple[str, ...] = ()


def reload_segments(
    controller: Controller,
    table: str,
    segments: Sequence[str],
    wanted: Wanted,
    waiting: Waiting,
    *,
    is_all: bool,
) -> Reloaded:
    """Reload ``segments``, all of the table if ``is_all``, and wait until they are as wanted."""
    started = waiting.clock()
    jobs = [controller.reload(table)] if is_all else [controller.reload(table, each) for each in segments]
    ids = [job for of_call in jobs for job in of_call]
    undone, done = looked_at(segments), -1
    moved = started
    while True:
        asked = waiting.clock()
        bad = bad_segments(controller, table)
        if bad:
            return Reloaded(waiting.clock() - started, f"segments went bad: {_named(bad)}", bad)
        undone = undone_segments(controller, table, undone, wanted)
        counted = sum(_succeeded(controller, job) for job in ids)
        now = waiting.clock()
        progress = counted + len(looked_at(segments)) - len(undone)
        if progress > done:
            done, moved = progress, now
        if not undone and _is_settled(controller, table, len(segments), now - moved, is_all=is_all):
            return Reloaded(now - started)
        if now - moved > waiting.quiet_seconds or now - started > waiting.seconds:
            return Reloaded(now - started, _stuck(undone, now - moved))
        waiting.beat(
            f"{len(looked_at(segments)) - len(undone)} of {len(looked_at(segments))} segments reloaded"
        )
        # A large table is asked less often.
        waiting.sleep(max(_POLL_SECONDS, waiting.clock() - asked))


def bad_segments(controller: Controller, table: str) -> tuple[str, ...]:
    """Return the segments that a server could not load."""
    states = controller.segment_states(table)
    return tuple(sorted(name for name, by_server in states.items() if BAD in by_server.values()))


def undone_segments(controller: Controller, table: str, segments: Sequence[str], wanted: Wanted) -> list[str]:
    """Return the segments among ``segments`` that are not as wanted, by what servers say of them."""
    if not segments or wanted.is_nothing:
        return []
    try:
        found = controller.built_indexes(table, segments, wanted.columns)
    except (MissingSource, SourceOutage):
        # They may be on their way to other servers; the next look tells.
        return list(segments)
    return [each for each in segments if not wanted.is_met_by(found.get(each, {}))]


def _is_settled(controller: Controller, table: str, segments: int, quiet: float, *, is_all: bool) -> bool:
    needed = controller.needs_reload(table) if is_all else None
    if needed is not None:
        return not needed
    # All segments were looked into, or the job has not counted another one for a while.
    return segments <= MAX_LOOKED_AT or quiet > _SETTLED_POLLS * _POLL_SECONDS


def _succeeded(controller: Controller, job: str) -> int:
    try:
        return controller.reload_status(job).succeeded
    except (MissingSource, SourceOutage):
        return 0


def _stuck(undone: Sequence[str], quiet: float) -> str:
    if not undone:
        return f"Pinot still asks for a reload after {quiet:,.0f} s without progress"
    return f"the reload makes no progress for {quiet:,.0f} s; not reloaded: {_named(undone)}"


def _named(segments: Sequence[str]) -> str:
    more = f" and {len(segments) - _SHOWN} more" if len(segments) > _SHOWN else ""
    return f"{', '.join(segments[:_SHOWN])}{more}"
