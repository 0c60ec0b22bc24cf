"""An application as a person or a schedule asks for it: plan and forecast first, then the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starskip.advisor.deployment.application import Application, Outcome, State, outcome_of
from starskip.advisor.deployment.deployment import apply_plan, resume
from starskip.advisor.deployment.forecast import Forecast, forecast_of, require_within
from starskip.advisor.deployment.journal import Journal
from starskip.advisor.deployment.plan import Plan, config_of, plan_of
from starskip.advisor.deployment.run import Run
from starskip.advisor.deployment.statements import replayed_statements
from starskip.advisor.deployment.table_segments import table_size
from starskip.advisor.deployment.take_back import take_back
from starskip.advisor.ledger.advised_index import AdvisedChange
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import reload_rate
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import MissingSource, printable
from starskip.pinot.cluster.open_cluster import PinotCluster
from starskip.pinot.hybrid_tables import half_name, without_type
from starskip.pinot.target_version import release_number
from starskip.settings.night_groups import DeploymentSettings
from starskip.storage.artefact_store import ArtefactStore

AdviceOf = Callable[[Mapping[str, Any]], AdvisedChange]
"""Returns the advice for a table whose present config it is given."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A table to change, in a cluster, with the store of journal and ledger.

    ``shapes``: returns the workload to replay of an advice. ``say`` tells the progress.
    """

    cluster: PinotCluster
    store: ArtefactStore
    table: str
    settings: DeploymentSettings
    who: str
    say: Callable[[str], None]
    allow_realtime: bool = False
    shapes: Callable[[AdvisedChange], Sequence[ShapeWorkload]] = field(default=lambda _advice: ())


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with its forecast, and the advice that it is of."""

    advice: AdvisedChange
    plan: Plan
    forecast: Forecast

    @property
    def outcome(self) -> Outcome:
        """The outcome as long as nothing is applied."""
        return Outcome(self.plan.table, self.plan.before, self.plan.after, self.forecast.to_json())


def prepare(asked: Asked, advice_of: AdviceOf) -> Prepared:
    """Return plan and forecast of the advice, laid over the config that the table has now."""
    controller = asked.cluster.controller
    config = config_of(asked.table, controller.table_configs(without_type(asked.table)[0]))
    advice = advice_of(config)
    plan = plan_of(advice, config, _release(asked), allow_realtime=asked.allow_realtime)
    rate = reload_rate(ledger_entries(asked.store))
    return Prepared(advice, plan, forecast_of(plan, table_size(controller, plan.table), rate))


def apply_prepared(asked: Asked, prepared: Prepared) -> Outcome:
    """Apply what was prepared, within the bounds of the settings."""
    require_within(prepared.forecast, asked.settings, prepared.plan.table)
    run = _run(asked, prepared.plan.table)
    plan, shapes = prepared.plan, asked.shapes(prepared.advice)
    version = ".".join(map(str, run.release))
    statements = replayed_statements(shapes, asked.settings.replayed_instances, plan.indexes, version)
    return apply_plan(run, plan, prepared.advice, prepared.forecast, statements)


def go_on(asked: Asked) -> Outcome | None:
    """Go on with an unfinished application of the table; None if nothing of one was written."""
    application = unfinished(asked)
    return None if application is None else resume(_run(asked, application.table), application)


def unfinished(asked: Asked) -> Application | None:
    """Return the application of the table that is not over, None if there is none."""
    journal = Journal(asked.store, asked.who)
    found = (journal.newest(table) for table in _halves(asked.table))
    return next((each for each in found if each is not None and not each.is_over), None)


def revert(asked: Asked) -> Outcome:
    """Take the newest application of a table back, finished or not; raises MissingSource if there is none."""
    journal = Journal(asked.store, asked.who)
    found = [each for table in _halves(asked.table) if (each := journal.newest(table)) is not None]
    if not found:
        raise MissingSource(
            f"table {printable(asked.table, 100)}: no application of it is in the store", source=asked.table
        )
    application = max(found, key=lambda each: each.started_at)
    if application.state in (State.REVERTED, State.SUPERSEDED):
        return outcome_of(application)
    run = _run(asked, application.table)
    run.application = journal.take_over(application)
    return take_back(run, f"asked for by {asked.who}", is_measured=False)


def applied_at(store: ArtefactStore, table: str) -> str:
    """Return the URL of the controller of the newest application of a table, empty if there is none."""
    found = [each for half in _halves(table) if (each := Journal(store, "").newest(half)) is not None]
    return max(found, key=lambda each: each.started_at).controller if found else ""


def _halves(table: str) -> tuple[str, ...]:
    name, table_type = without_type(table)
    return (table,) if table_type else (half_name(name, "OFFLINE"), half_name(name, "REALTIME"))


def _release(asked: Asked) -> tuple[int, ...]:
    return release_number(asked.cluster.controller.version() or "0.11")


def _run(asked: Asked, table: str) -> Run:
    return Run(
        controller=asked.cluster.controller,
        broker=asked.cluster.broker,
        journal=Journal(asked.store, asked.who),
        settings=asked.settings,
        table=table,
        release=_release(asked),
        who=asked.who,
        say=asked.say,
    )
