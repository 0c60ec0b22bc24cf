"""Expire nights past their retention, and vacuum unneeded files, at the end of a night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES
from starskip.errors import StorageError
from starskip.night.job_receipt import RECEIPTS
from starskip.settings import Settings
from starskip.storage.artefact_store import CURRENT, EXPERIMENTS
from starskip.storage.retention import Retired, remove_old, retire_nights
from starskip.storage.store_clock import store_clock
from starskip.storage.stored_artefacts import STORAGE
from starskip.storage.vacuum import VacuumReport, vacuum

_AS_READ = (
    *("queries", "queries_counts", "rejected_records", "table_facts", "table_facts_counts"),
    *("damaged_segments", "latency_bins", "index_sizes"),
)
"""Artefacts that hold each query, or grow with logs and segments; no later night needs an older one."""

_LOOKED_BACK_AT = ("workload", "votes", "lake_queries")
"""Artefacts that later nights look back at; the first and the last hold sampled literals."""


def kept_days(settings: Settings) -> dict[str, int]:
    """Return, for each artefact that holds literals of queries or grows with logs, how long it is kept."""
    kept = settings.retention
    looked_back = max(kept.workload_days, settings.workload.look_back_nights)
    return {**dict.fromkeys(_AS_READ, kept.query_days), **dict.fromkeys(_LOOKED_BACK_AT, looked_back)}


@dataclass(frozen=True, slots=True)
class Tidied:
    """The nights removed from the store's artefacts, and the vacuum's report (None in a dry run)."""

    retired: Retired
    vacuumed: VacuumReport | None

    @property
    def warnings(self) -> Sequence[str]:
        """Return a line for each file or folder that could not be removed, with the reason."""
        left = [*self.retired.left_alone, *(self.vacuumed.left_alone if self.vacuumed else ())]
        return [f"{key} was not tidied: {reason}" for key, reason in dict(left).items()]


def expire_snapshots(night: Night, *, dry_run: bool = False) -> Tidied:
    """Retire the old nights of the tables of ``night``, then vacuum; or only report.

    The vacuum covers all tables: it removes files that no reader of any table can see. Experiments and
    receipts go with the queries of their night. Raises StorageError if the store cannot be listed at all.
    """
    # If this machine's clock runs ahead, files that a run is writing now would look old.
    now = night.started_at if dry_run else min(night.started_at, store_clock(night.store.storage))
    grace = timedelta(hours=night.settings.retention.vacuum_grace_hours)
    retired = retire_nights(
        night.store,
        nights=night.settings.retention.nights,
        days=kept_days(night.settings),
        now=now,
        grace=grace,
        created_by=f"retention of {night.run_id}",
        tables=night.tables,
        dry_run=dry_run,
    )
    if dry_run:
        return Tidied(retired, None)
    # Built artefacts keep their newest state only: they are large, and nobody goes back to a former one.
    names = {STORAGE, *(stage.builds for stage in STAGES if stage.builds)}
    current = {night.store.chain(name, CURRENT).key for name in names}
    settled = retired.settled | current
    vacuumed = vacuum(night.store, now=now, grace=grace, settled=settled)
    days = night.settings.retention.query_days
    # Experiments hold the queries of their night, too; the job of a receipt may be about a night of the past.
    removed = [
        name
        for folder in (EXPERIMENTS, RECEIPTS)
        for name in remove_old(night.store, folder, days=days, now=now, grace=grace)
    ]
    return Tidied(retired, replace(vacuumed, removed=(*vacuumed.removed, *removed)))


def tidied_words(night: Night) -> list[str]:
    """Expire old nights and vacuum at the end of a night; return what was done, or why it was not."""
    try:
        tidied = expire_snapshots(night)
    except StorageError as error:
        # The night is published; the next night tidies the rest.
        return [f"old nights were not tidied: {error}"]
    vacuumed = len(tidied.vacuumed.removed) if tidied.vacuumed else 0
    return [f"{len(tidied.retired.nights)} nights retired, {vacuumed} files vacuumed", *tidied.warnings]
