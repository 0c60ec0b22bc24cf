"""Take an application back: the old keys, a reload, and for star-trees the flag that removes them last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from starskip.advisor.deployment.application import (
    REVERTED,
    Application,
    Outcome,
    State,
    outcome_of,
    verdict_of,
)
from starskip.advisor.deployment.live_table import Written
from starskip.advisor.deployment.reloading import bad_segments, undone_segments
from starskip.advisor.deployment.run import Run
from starskip.advisor.deployment.table_segments import looked_at, tree_count, wanted_of
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.errors import AccessRefused, ForeignConfig, UnsettledCluster, printable
from starskip.pinot.config_change import KeyChange, config_digest, has_changes, steps_back
from starskip.pinot.hybrid_tables import without_type

_WRITE_ATTEMPTS = 3


def take_back(run: Run, reason: str, *, is_measured: bool) -> Outcome:
    """Put the old keys back, reload, and return the outcome; what others changed besides stays.

    ``is_measured``: it is for what was measured, which refutes the advice. Raises ForeignConfig if somebody
    else has changed the very keys, and UnsettledCluster if segments stay as they must not be.
    """
    run.say(f"taking it back: {reason}")
    run.record(State.TAKING_BACK, reason=reason, is_measured_bad=is_measured)
    application = run.application
    config = run.live.config()
    if not are_ours_or_old(config, application):
        raise run.stopped(run.live.foreign("the keys that were put are not as they were put"))
    for step in steps_back(config, application.changes):
        _write_step(run, step)
        if _removes_indexes(step):
            _reload(run)
    _mend(run)
    _finish(run)
    return outcome_of(run.application)


def are_ours_or_old(config: Mapping[str, Any], application: Application) -> bool:
    """Return whether each changed key is as it was put or as it was before: then nobody else's is lost."""
    return all(
        has_changes(config, [each]) or has_changes(config, [each.reversed()]) for each in application.changes
    )


def _removes_indexes(step: Sequence[KeyChange]) -> bool:
    return any(isinstance(each.before, list | dict) or isinstance(each.after, list | dict) for each in step)


def _write_step(run: Run, step: Sequence[KeyChange]) -> None:
    for _ in range(_WRITE_ATTEMPTS):
        if run.live.has(step):
            return
        try:
            written, _ = run.live.write(run.live.config(), step)
        except ForeignConfig as error:
            raise run.stopped(error) from error
        if written is Written.AS_PLANNED or run.live.has(step):
            return
        run.sleep(1)
    raise UnsettledCluster(
        f"table {printable(run.table, 100)}: Pinot does not take its old config back: put these keys back by "
        f"hand: {printable(', '.join(each.name for each in step), 200)}, and reload the table"
    )


def _reload(run: Run) -> None:
    application = run.application
    config = run.live.config()
    wanted = wanted_of(application.indexes, config, has_trees=run.changes_trees)
    trees = tree_count(config) if run.changes_trees else None
    segments = run.live.segments()
    wanted = wanted.reversed(trees)
    run.say(f"reloading all {len(segments)} segments without the indexes")
    try:
        end = run.live.reload(segments, wanted, run.waiting("taking back"), is_all=True)
    except AccessRefused:
        undone = undone_segments(run.controller, run.table, looked_at(segments), wanted)
        if undone:
            raise
        run.say("no reload is needed: no segment has the indexes")
        return
    if end.problem and not end.bad_segments:
        raise UnsettledCluster(
            f"table {printable(run.table, 100)}: its old config is back, but {printable(end.problem, 300)}: "
            f"run starskip pinot revert --table {printable(without_type(run.table)[0], 100)} again, or "
            "restart these servers"
        )


def _mend(run: Run) -> None:
    """Have servers load bad segments anew; raises UnsettledCluster if some stay bad."""
    bad = bad_segments(run.controller, run.table)
    for segment in bad:
        run.say(f"resetting {segment}, which a server could not load")
        run.controller.reset_segment(run.table, segment)
    ends = run.clock() + 60 * run.settings.no_progress_minutes
    while bad and run.clock() < ends:
        run.sleep(1)
        run.beat()
        bad = bad_segments(run.controller, run.table)
    if bad:
        raise UnsettledCluster(
            f"table {printable(run.table, 100)}: its old config is back, but servers cannot load "
            f"{printable(', '.join(bad[:5]), 300)}: look into their logs, then reset or upload these segments"
        )


def _finish(run: Run) -> None:
    application = run.application
    config = run.live.config()
    others = "" if config_digest(config) == application.before else "; other keys of the config have changed"
    verdicts = [{**each, "verdict": REVERTED} for each in application.verdicts] or [
        verdict_of(each, REVERTED, application.reason) for each in application.indexes
    ]
    verdicts = [{**each, "detail": _because(each["detail"], application.reason)} for each in verdicts]
    reason = f"{application.reason}{others}"
    run.application = replace(application, verdicts=verdicts)
    note_in_ledger(run, Event.REFUTED if application.is_measured_bad else Event.TAKEN_BACK, reason)
    run.record(State.REVERTED, reason=reason)
    run.say(f"the old config is back{others}")


def _because(detail: str, reason: str) -> str:
    return detail if reason in detail else f"{detail}; taken back: {reason}"


def note_in_ledger(run: Run, event: Event, reason: str) -> None:
    """Add what became of each index to the ledger, before the journal ends: twice rather than never."""
    application = run.application
    now = datetime.now(UTC)
    by_index = {each["index"]: each for each in application.verdicts}
    entries = []
    for index in application.indexes:
        verdict = by_index.get(index.name, {})
        entries.append(
            LedgerEntry(
                application.advised_table,
                now,
                application.who,
                event,
                index,
                application.source,
                reason=reason,
                application=application.id,
                interval=application.interval,
                measured_saving_ratio=verdict.get("measured_saving_ratio"),
                measured_saving_ms=verdict.get("measured_saving_ms"),
                table_predicted_saving_ratio=application.saving_ratio,
                table_measured_saving_ratio=application.measured_saving_ratio,
                table_predicted_time=application.time,
                table_replayed_ms=application.replayed_ms,
                table_measured_saving_ms=application.measured_saving_ms,
                reloaded_bytes=application.reloaded_bytes,
                reload_seconds=application.reload_seconds or None,
                detail=str(verdict.get("detail", "")),
            )
        )
    add_entries(run.journal.store, entries, created_at=now, created_by=run.journal.created_by)
