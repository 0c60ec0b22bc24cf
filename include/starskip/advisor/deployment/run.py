"""One run on one table: the cluster, the journal, the bounds of load, and the application under way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from starskip.advisor.deployment.application import Application, State
from starskip.advisor.deployment.journal import Journal
from starskip.advisor.deployment.live_table import LiveTable
from starskip.advisor.deployment.reloading import Waiting
from starskip.advisor.deployment.replay import PASSES, Measured, Options, Pace, replay
from starskip.advisor.deployment.statements import Statement
from starskip.errors import ForeignConfig, SourceOutage
from starskip.pinot.cluster.broker import Broker
from starskip.pinot.cluster.controller import Controller
from starskip.pinot.config_change import TREE_PATHS
from starskip.settings.night_groups import DeploymentSettings

_BEAT_SECONDS = 30.0
_RETRY_SECONDS = 5.0
_LEAST_DEADLINE_SECONDS = 900.0
_DEADLINE_FACTOR = 5

T = TypeVar("T")


class BrokerGone(Exception):
    """The broker does not answer, though it was asked again and again."""


@dataclass(slots=True)
class Run:
    """A run; ``application`` is the one under way, as the journal has it. ``say`` tells its progress."""

    controller: Controller
    broker: Broker
    journal: Journal
    settings: DeploymentSettings
    table: str
    release: tuple[int, ...]
    who: str
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    application: Application = field(init=False)
    pace: Pace = field(init=False)
    _beat_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Bound the load."""
        self.pace = Pace(self.settings.queries_per_second, self.clock, self.sleep)

    @property
    def live(self) -> LiveTable:
        """The table in the cluster."""
        return LiveTable(self.controller, self.table)

    @property
    def changes_trees(self) -> bool:
        """True if the application changes star-trees."""
        return any(each.path in TREE_PATHS for each in self.application.changes)

    def record(self, state: State, **fields: Any) -> None:
        """Write how far the application is into the journal, before the step is taken."""
        self.application = self.journal.write(replace(self.application, state=state, **fields))
        self._beat_at = self.clock()

    def beat(self) -> None:
        """Tell in the journal, now and then, that this process lives."""
        if hasattr(self, "application") and self.clock() - self._beat_at > _BEAT_SECONDS:
            self.record(self.application.state)

    def stopped(self, error: ForeignConfig) -> ForeignConfig:
        """Write that nothing more is written, and return the error with what there is to do."""
        before_put = self.application.state is State.PUTTING and not self.live.has(self.application.changes)
        self.record(State.SUPERSEDED if before_put else State.STOPPED, reason=str(error))
        if before_put:
            return error
        words = (
            f"{error}; state: stopped, and nothing more was written: the next run, or starskip pinot revert, "
            "takes back the keys that are still as they were put"
        )
        return ForeignConfig(words, setting=error.setting)

    def waiting(self, label: str) -> Waiting:
        """Return how to wait for a reload."""
        minutes = self.application.forecast.get("minutes", 0.0)
        last = [""]

        def beat(words: str) -> None:
            if words != last[0]:
                self.say(f"{label}: {words}")
                last[0] = words
            self.beat()

        seconds = max(_LEAST_DEADLINE_SECONDS, _DEADLINE_FACTOR * 60 * minutes)
        return Waiting(seconds, 60 * self.settings.no_progress_minutes, self.clock, self.sleep, beat)

    def replay(self, statements: Sequence[Statement], passes: int = PASSES) -> list[Measured]:
        """Return what the statements cost now."""
        return self.replay_variants(statements, [{}], passes)[0]

    def replay_variants(
        self, statements: Sequence[Statement], variants: Sequence[Options], passes: int = PASSES
    ) -> list[list[Measured]]:
        """Return what the statements cost now, by variant; raises BrokerGone once the config is put."""
        try:
            return self.patiently(
                lambda: replay(
                    self.broker, statements, self.pace, variants=variants, passes=passes, beat=self.beat
                )
            )
        except SourceOutage as error:
            if not hasattr(self, "application"):
                raise
            raise BrokerGone(str(error)) from error

    def patiently(self, ask: Callable[[], T]) -> T:
        """Return what ``ask`` returns; an outage is waited for as long as a reload without progress."""
        ends = self.clock() + 60 * self.settings.no_progress_minutes
        while True:
            try:
                return ask()
            except SourceOutage as error:
                if self.clock() > ends or not hasattr(self, "application"):
                    raise
                self.say(f"waiting: {error}")
                self.sleep(_RETRY_SECONDS)
                self.beat()
