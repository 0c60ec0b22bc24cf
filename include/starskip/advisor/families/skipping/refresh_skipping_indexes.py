"""Stage refresh_skipping_indexes: build the chosen indexes of ``skipping_advice`` on lake tables.

Source: Extensible Data Skipping, II.
"""

from __future__ import annotations

from functools import partial

from starskip.advisor.families.lake_builds import ChosenIndexes, LakeBuilds, TableBuild, publish_builds
from starskip.advisor.families.lake_workload import lake_workload
from starskip.advisor.families.metadata_build import metadata_build, tidy_metadata
from starskip.advisor.families.skipping.advice.measured_candidates import serving_index
from starskip.advisor.families.skipping.artefacts import ADVICE, BUILDS
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import StorageError
from starskip.execution.engine import Engine
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.skipping_engine import SkippingEngine, skipping_engine


def refresh_skipping_indexes(engine: Engine, night: Night) -> StageResult:
    """Create, refresh and delete skipping indexes of the night's tables; publish ``skipping_builds``."""
    of_lake = skipping_engine(engine)
    builds = LakeBuilds(
        "refresh_skipping_indexes",
        ADVICE,
        BUILDS,
        "skipping indexes",
        obstacle=lambda: "skipping indexes are built on Spark alone" if of_lake is None else "",
        build=partial(_built, of_lake),
    )
    return publish_builds(night, builds)


def _built(engine: SkippingEngine | None, of: ChosenIndexes) -> TableBuild:
    assert engine is not None
    location = engine.location(of.lake, of.night.skipping_root)
    former = open_metadata(location)
    active = list(former.state.active) if former else []
    names = of.wanted(active)
    if former is not None:
        # Before tonight's changes: an index that this night deletes can be restored until the next one.
        tidy_metadata(location, of.night)
    if not names and not active:
        return TableBuild(properties={"note": of.note})
    queries = lake_workload(of.night, of.table).queries
    made = engine.refresh(of.lake, [serving_index(name, queries) for name in names], of.night.skipping_root)
    metadata = open_metadata(location)
    if metadata is None:
        raise StorageError(f"{location}: the metadata is gone since it was written", location=location)
    return metadata_build(of, location, active, metadata, made)
