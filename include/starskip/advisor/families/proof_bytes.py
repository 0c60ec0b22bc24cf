"""The bytes that one family's proof may read of one table in a night."""

from __future__ import annotations

from starskip.advisor.families.lake_builds import DELETED, FAILED, NOT_BUILT
from starskip.advisor.run.night import Night

_BUILDS = ("star_tree_builds", "skipping_builds", "secondary_builds")
_ABSENT = (DELETED, FAILED, NOT_BUILT)


def proof_bytes(night: Night, table: str) -> int:
    """Return an equal part of the table's budget for each family that has indexes on the table.

    The night's budget is divided by all lake tables of the configuration, so that groups of tables that run
    apart need not know of each other.
    """
    building = night.settings.building
    of_night = building.proof_night_bytes // max(len(night.lake_tables), 1)
    families = sum(_has_indexes(night, table, artefact) for artefact in _BUILDS)
    return min(building.proof_table_bytes, of_night) // max(families, 1)


def _has_indexes(night: Night, table: str, artefact: str) -> bool:
    builds = night.store.snapshot(artefact, night.date_text)
    if builds is None or table not in builds.tables:
        return False
    return any(row["outcome"] not in _ABSENT for row in builds.read_table([table], ["outcome"]).to_pylist())
