"""Expire nights past ``retention.nights``, and vacuum unneeded files, at the end of a night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES
from starskip.night.experiments import remove_old_experiments
from starskip.night.job_receipt import remove_old_receipts
from starskip.storage.artefact_store import CURRENT
from starskip.storage.retention import Retired, retire_nights
from starskip.storage.store_clock import store_clock
from starskip.storage.vacuum import VacuumReport, vacuum


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
    receipts of the same age go too. Raises StorageError if the store cannot be listed at all.
    """
    # If this machine's clock runs ahead, files that a run is writing now would look old.
    now = night.started_at if dry_run else min(night.started_at, store_clock(night.store.storage))
    grace = timedelta(hours=night.settings.retention.vacuum_grace_hours)
    retired = retire_nights(
        night.store,
        nights=night.settings.retention.nights,
        now=now,
        grace=grace,
        created_by=f"retention of {night.run_id}",
        tables=night.tables,
        dry_run=dry_run,
    )
    if dry_run:
        return Tidied(retired, None)
    # Built artefacts keep their newest state only: they are large, and nobody goes back to a former one.
    current = {night.store.chain(stage.builds, CURRENT).key for stage in STAGES if stage.builds}
    settled = retired.settled | current
    vacuumed = vacuum(night.store, now=now, grace=grace, settled=settled)
    nights = night.settings.retention.nights
    removed = [
        *remove_old_experiments(night.store, nights=nights, now=now, grace=grace),
        *remove_old_receipts(night.store, nights=nights, now=now, grace=grace),
    ]
    return Tidied(retired, replace(vacuumed, removed=(*vacuumed.removed, *removed)))
