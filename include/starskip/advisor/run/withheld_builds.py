"""Withhold builds from all nights but the newest: built artefacts are current state."""

from __future__ import annotations

from starskip.advisor.run.night import Night


def withheld_builds(night: Night, advice: str) -> str:
    """Return why this night does not build the indexes of the artefact ``advice``, empty if it does.

    An experiment lies beside the night's advice, but what it built would lie where all nights look.
    """
    if night.is_experiment or not night.settings.building.build_indexes:
        return "this run advises and builds nothing (build_indexes; a backfill and an experiment never build)"
    newer = next(night.store.newer_nights(advice, than=night.date_text), "")
    return f"only the newest night builds, which is {newer}" if newer else ""
