"""Apply a plan to a live table: put, canary, reload, measure; then keep it, or take it back.

Each step is written into the journal before it is taken. A run that finds an unfinished application goes on
from its last step, by what the cluster says now, or takes it back: no step needs a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from starskip.advisor.deployment.application import (
    KEPT,
    Application,
    Outcome,
    State,
    outcome_of,
    verdict_of,
)
from starskip.advisor.deployment.forecast import Forecast
from starskip.advisor.deployment.judgement import (
    Fault,
    FaultKind,
    faults_of,
    saving,
    saving_words,
    savings_by_index,
)
from starskip.advisor.deployment.live_table import Written
from starskip.advisor.deployment.plan import Plan
from starskip.advisor.deployment.replay import Baseline, Measured, replay
from starskip.advisor.deployment.run import BrokerGone, Run
from starskip.advisor.deployment.statements import Statement
from starskip.advisor.deployment.table_segments import hiding_options, newest_first, table_size, wanted_of
from starskip.advisor.deployment.take_back import are_ours_or_old, note_in_ledger, take_back
from starskip.advisor.ledger.advised_index import AdvisedChange
from starskip.advisor.ledger.entry import Event
from starskip.errors import AccessRefused, ConfigError, ForeignConfig, SourceOutage, printable
from starskip.number_text import decimal, percent
from starskip.pinot.config_change import config_digest, has_changes

_CANARY_PASSES = 2
_CONFIRMING = 3
"""Replays more before a shape counts as slower: the load of others comes and goes, an index's harm stays."""
_SHOWN_FAULTS = 3
_NOT_REPLAYED = "no query was replayed"


def apply_plan(
    run: Run, plan: Plan, advice: AdvisedChange, forecast: Forecast, statements: Sequence[Statement]
) -> Outcome:
    """Apply a plan and return what became of it; raises ForeignConfig, and errors of the cluster."""
    if not plan.changes:
        return Outcome(plan.table, plan.before, plan.after, forecast.to_json())
    _require_known_keys(run, plan)
    plan, needed = without_needed_drops(run, plan, statements)
    if not plan.changes:
        return Outcome(plan.table, plan.before, plan.after, forecast.to_json(), reason="; ".join(needed))
    advice = advice.only([each.name for each in plan.indexes])
    segments = run.live.segments()
    if not statements:
        run.say("no query is at hand to replay: the change is judged by its segments alone (--log, --config)")
    run.say(f"measuring {len(statements)} queries as the table is")
    before = run.replay(statements)
    if statements and all(each.flaw for each in before):
        raise SourceOutage(
            f"table {printable(plan.table, 100)}: no query can be measured: {printable(before[0].flaw, 200)}",
            source=plan.table,
        )
    application = Application(
        id=uuid4().hex[:12],
        table=plan.table,
        advised_table=advice.table,
        controller=run.controller.session.url,
        source=advice.source,
        started_at=datetime.now(UTC).isoformat(),
        who=run.who,
        state=State.PUTTING,
        before=plan.before,
        after=plan.after,
        changes=plan.changes,
        indexes=plan.indexes,
        canary=tuple(newest_first(segments)[: run.settings.canary_segments]),
        forecast=forecast.to_json(),
        saving_ratio=advice.saving_ratio,
        interval=advice.interval,
        time=advice.time,
    )
    run.application = run.journal.begin(application, Baseline(tuple(statements), tuple(before)).to_json())
    run.say(f"putting the config of {plan.table}")
    try:
        written, held = run.live.write(plan.base, plan.changes)
    except ForeignConfig as error:
        raise run.stopped(error) from error
    if written is Written.NOT_AT_ALL:
        run.record(State.SUPERSEDED, reason="Pinot did not take the config")
        raise SourceOutage(
            f"table {printable(plan.table, 100)}: Pinot did not take the config, and has it as it was: run "
            "it again",
            source=plan.table,
        )
    if written is Written.KEYS_DROPPED:
        return take_back(run, "Pinot dropped keys of the config that it does not know", is_measured=False)
    return _from_canary(run, held)


def resume(run: Run, application: Application) -> Outcome | None:
    """Go on with an unfinished application, or take it back; None if nothing of it was written."""
    run.application = run.journal.take_over(application)
    config = run.live.config()
    is_ours = has_changes(config, application.changes)
    run.say(
        f"going on with the application of {application.started_at}, which ended at {application.state.value}"
    )
    if application.state is State.TAKING_BACK:
        return take_back(run, application.reason, is_measured=application.is_measured_bad)
    if not are_ours_or_old(config, application):
        error = run.live.foreign(
            "its indexes are neither ours nor those from before: the next run begins anew"
        )
        run.record(State.SUPERSEDED, reason=str(error))
        raise error
    if application.state is State.PUTTING and has_changes(config, application.back):
        run.record(State.SUPERSEDED, reason="ended before anything was written")
        return None
    if application.state is State.STOPPED or not is_ours:
        return take_back(run, application.reason or "somebody put the old config back", is_measured=False)
    if application.state is not State.PUTTING and config_digest(config) != application.after:
        return take_back(
            run, "the config was changed by someone else while it was applied", is_measured=False
        )
    return _from_canary(run, config)


def without_needed_drops(run: Run, plan: Plan, statements: Sequence[Statement]) -> tuple[Plan, list[str]]:
    """Return the plan without the drops of indexes that queries need, which it proves without a change."""
    notes: list[str] = []
    for index in [each for each in plan.indexes if each.is_drop]:
        options = hiding_options(replace(index, is_drop=False), run.release, {})
        if options is None or not statements:
            continue
        run.say(f"asking the queries without {index.name.removeprefix('without_')}")
        present, without = replay(run.broker, statements, run.pace, variants=({}, options), beat=run.beat)
        faults = faults_of(statements, present, without, run.settings.max_regression_ratio)
        if faults:
            notes.append(f"{index.name}: not dropped: {faults[0]}")
            plan = plan.without([index.name], notes[-1])
    return plan, notes


def _require_known_keys(run: Run, plan: Plan) -> None:
    try:
        unknown = run.controller.validate_table_config(plan.target)
    except AccessRefused:
        return  # a right of its own; the answer to the PUT tells the same
    if unknown:
        names = printable(", ".join(map(str, unknown)), 200)
        raise ConfigError(
            f"table {printable(plan.table, 100)}: Pinot does not know {names}, and would drop it",
            setting=plan.table,
        )


def _from_canary(run: Run, config: Mapping[str, Any]) -> Outcome:
    """Reload and measure from the canary on; what is reloaded already is reloaded once more.

    ``config``: as Pinot has it, with the changes.
    """
    application = run.application
    run.record(State.CANARY, after=config_digest(config))
    baseline = Baseline.from_json(run.journal.baseline(run.application))
    segments = run.live.segments()
    wanted = wanted_of(application.indexes, config, has_trees=run.changes_trees)
    canary = [each for each in application.canary if each in segments]
    try:
        if 0 < len(canary) < len(segments):
            run.say(f"canary: reloading {', '.join(canary)}")
            end = run.live.reload(canary, wanted, run.waiting("canary"), is_all=False)
            if end.problem:
                return take_back(run, f"canary: {end.problem}", is_measured=False)
            faults = _faults(run, baseline, run.replay(baseline.statements, _CANARY_PASSES))
            faults = [each for each in faults if each.kind is not FaultKind.SLOWER]
            if faults:
                return _refuted(run, "canary: ", faults)
        _require_ours(run)
        run.record(State.RELOADING)
        run.say(f"reloading all {len(segments)} segments")
        end = run.live.reload(segments, wanted, run.waiting("reload"), is_all=True)
        if end.problem:
            return take_back(run, end.problem, is_measured=False)
        held = table_size(run.controller, application.table).by_server.values()
        largest = max((size_bytes for _, size_bytes in held), default=0)
        run.record(State.MEASURING, reloaded_bytes=largest, reload_seconds=end.seconds)
        return _measured(run, baseline, config)
    except BrokerGone as error:
        return take_back(run, f"it could not be measured: {error}", is_measured=False)
    except AccessRefused as error:
        return take_back(run, str(error), is_measured=False)


def _measured(run: Run, baseline: Baseline, config: Mapping[str, Any]) -> Outcome:
    statements, before = baseline.statements, baseline.before
    application = run.application
    hiding = {
        each.name: options
        for each in application.indexes
        if (options := hiding_options(each, run.release, config, only_trees_of=application.indexes))
        is not None
    }
    run.say(f"measuring {len(statements)} queries with the new indexes")
    after, *without = run.replay_variants(statements, [{}, *hiding.values()])
    hidden = dict(zip(hiding, without, strict=True))
    faults = _faults(run, baseline, after)
    for _ in range(_CONFIRMING):
        if not faults or any(each.kind is not FaultKind.SLOWER for each in faults):
            break
        run.say("measuring once more: a shape seems to be slower")
        after = [_least(*each) for each in zip(after, run.replay(statements), strict=True)]
        faults = _faults(run, baseline, after)
    whole = saving(statements, before, after)
    by_index = savings_by_index(statements, application.indexes, before, after, hidden)
    verdicts = []
    for index in application.indexes:
        measured, how = by_index[index.name]
        detail = f"{saving_words(index.saving_ratio, measured)}, {how}" if statements else _NOT_REPLAYED
        verdicts.append(verdict_of(index, KEPT, detail, measured if statements else None))
    run.application = replace(run.application, verdicts=verdicts)
    if statements:
        run.application = replace(
            run.application,
            measured_saving_ratio=whole.ratio,
            replayed_ms=whole.before_ms,
            measured_saving_ms=whole.ms,
        )
    if faults:
        return _refuted(run, "", faults)
    _require_ours(run)
    told = _NOT_REPLAYED
    if statements:
        saved = f"{decimal(whole.ms)} of {decimal(whole.before_ms)} ms a query"
        told = f"measured: {percent(whole.ratio)} of all entries saved, {saved}"
    note_in_ledger(run, Event.KEPT, told)
    run.record(State.KEPT, reason=told)
    run.say(told)
    return outcome_of(run.application)


def _least(one: Measured, other: Measured) -> Measured:
    return replace(one, best_ms=min(one.best_ms, other.best_ms)) if not other.flaw else other


def _faults(run: Run, baseline: Baseline, after: Sequence[Measured]) -> list[Fault]:
    return faults_of(baseline.statements, baseline.before, after, run.settings.max_regression_ratio)


def _refuted(run: Run, where: str, faults: Sequence[Fault]) -> Outcome:
    shown = "; ".join(map(str, faults[:_SHOWN_FAULTS]))
    more = f"; and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
    return take_back(run, f"{where}{shown}{more}", is_measured=True)


def _require_ours(run: Run) -> None:
    config = run.live.config()
    if config_digest(config) != run.application.after:
        raise run.stopped(run.live.foreign("it is not what was put, which is not judged beside it"))
