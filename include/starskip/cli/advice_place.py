"""The store of advice, decisions and applications that a command works on, and the advice in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from starskip.cli.choice import did_you_mean
from starskip.cli.setting_option import given_settings
from starskip.errors import MissingSource, SourceError, printable
from starskip.pinot.hybrid_tables import without_type
from starskip.settings import Settings

if TYPE_CHECKING:
    from starskip.advisor.ledger.advised_index import AdvisedChange
    from starskip.advisor.ledger.entry import LedgerEntry
    from starskip.advisor.run.night import Night
    from starskip.advisor.workload.shape_workload import ShapeWorkload
    from starskip.storage.artefact_store import ArtefactStore

NEWEST = ("newest", "night")
"""Words for the newest night that has advice."""
STORE = ".starskip"
"""Folder of journal and ledger where no configuration names a store."""

F = TypeVar("F", bound=Callable[..., Any])


def person() -> str:
    """Return the name of whoever calls, as journal and ledger write it."""
    try:
        return getuser()
    except (KeyError, OSError, ImportError):
        # A container may run as a number that has no name.
        return f"user {os.getuid()}"


def config_and_store(command: F) -> F:
    """Return a command with the options --config and --store."""
    config = click.option(
        "--config",
        default="",
        metavar="FILE",
        type=click.Path(),
        help="Configuration of the night (YAML): its store has advice, workload, journal and ledger.",
    )
    store = click.option(
        "--store",
        default="",
        metavar="DIR",
        help=f"Store of journal and ledger where no configuration names one. [default: {STORE}]",
    )
    return config(store(command))


@dataclass(frozen=True, slots=True)
class AdvicePlace:
    """Store and settings; ``night``: of the configuration, None without one."""

    store: ArtefactStore
    settings: Settings
    night: Night | None

    def advice(self, recommendation: str, table: str, config: Mapping[str, Any]) -> AdvisedChange:
        """Return the advice that was asked for."""
        from starskip.advisor.deployment.advised_change import change_of_file
        from starskip.advisor.ledger.standing import approved_advice

        if not recommendation:
            return approved_advice(table, self.entries(table))
        if Path(recommendation).is_file():
            return change_of_file(recommendation, table, config)
        return night_advice(self.night, recommendation, table)

    def entries(self, table: str) -> list[LedgerEntry]:
        """Return the ledger's entries of a table; one of one half is known by its name without the type."""
        from starskip.advisor.ledger.ledger import ledger_entries

        return ledger_entries(self.store, table) or ledger_entries(self.store, without_type(table)[0])

    def shapes(self, advice: AdvisedChange, logs: Sequence[str]) -> Sequence[ShapeWorkload]:
        """Return the workload to replay."""
        from starskip.advisor.deployment.replayed_workload import logged_workload, night_workload

        if logs:
            return logged_workload(logs, advice.table, self.settings)
        return night_workload(self.store, advice.table, advice.source)


def night_advice(night: Night | None, recommendation: str, table: str) -> AdvisedChange:
    """Return the advice of a night, by its date or the word newest; raises SourceError for another text."""
    from starskip.advisor.deployment.advised_change import change_of_night, newest_advice

    if night is None:
        raise SourceError(
            f"{printable(recommendation, 200)}: is no file; a night needs --config", source=recommendation
        )
    if recommendation in NEWEST and not (recommendation := newest_advice(night.store, table)):
        raise MissingSource(_unadvised(night, table), source=table)
    try:
        asked = date.fromisoformat(recommendation)
    except ValueError:
        raise SourceError(
            f"{printable(recommendation, 200)}: is no file, and no night such as 2026-11-18 or newest",
            source=recommendation,
        ) from None
    return change_of_night(replace(night, run_date=asked), table)


def _unadvised(night: Night, table: str) -> str:
    """Return that no night has advice on a table, with the names that its own may have been meant for."""
    name = printable(table, 100)
    newest = next(night.store.newer_nights("recommendations"), "")
    snapshot = night.store.snapshot("recommendations", newest) if newest else None
    if snapshot is None:
        return f"table {name}: no night has advice on it; run a night"
    known = printable(", ".join(sorted(snapshot.tables)), 300)
    meant = did_you_mean(without_type(table)[0], snapshot.tables)
    return f"table {name}: no night has advice on it.{meant or f' That of {newest} has advice on {known}'}"


def advice_place(config: str, store: str, settings_given: Mapping[str, Any]) -> AdvicePlace:
    """Return the place that the options of ``config_and_store`` name, with settings from other options."""
    from starskip.advisor.families.families import load_families
    from starskip.night.configuration.checked_overrides import checked_overrides
    from starskip.night.configuration.night_from_config import NightArguments, night_from_config
    from starskip.storage.artefact_store import ArtefactStore
    from starskip.storage.storage_for import storage_for

    given = given_settings(settings_given)
    if config and store:
        raise click.UsageError("--config names the store: leave out --store")
    if not config:
        settings = checked_overrides(Settings(), given, origin="arguments")
        return AdvicePlace(ArtefactStore(storage_for(store or STORE)), settings, None)
    now = datetime.now(UTC)
    night = night_from_config(config, NightArguments(now.date(), "by hand", now, settings=given), os.environ)
    load_families(night.family_modules)
    return AdvicePlace(night.store, night.settings, night)
