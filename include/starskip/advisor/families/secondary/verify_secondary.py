"""Ask the queries that secondary indexes serve again, with them and without: a part of verify_indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.families.file_indexes.replays import Replays, Serves, publish_replays, replays_gate
from starskip.advisor.families.secondary.refresh_secondary_indexes import BUILDS
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine
from starskip.file_metadata.open_metadata import read_metadata
from starskip.predicates.expression import Expression
from starskip.secondary.indexed_segments import known_schema
from starskip.secondary.lifecycle import ARTEFACT
from starskip.secondary.secondary_index import SecondaryIndex, secondary_index
from starskip.secondary.sure_predicates import sure_predicates
from starskip.secondary.surviving_files import served_paths
from starskip.storage.storage_for import storage_for

VERDICTS = "secondary_verdicts"
SECONDARY_VERDICTS_GATE = replays_gate(VERDICTS, "queries of {table} with secondary indexes and without")


def publish_secondary_verdicts(engine: Engine, night: Night) -> StageResult:
    """Publish ``secondary_verdicts`` of the night's tables; tables without an index have none.

    A night of a version before there were secondary indexes has nothing to prove.
    """
    if night.store.snapshot(BUILDS, night.date_text) is None:
        return StageResult({})
    return publish_replays(engine, night, Replays(BUILDS, VERDICTS, "secondary", _serves))


def _serves(build: Mapping[str, Any]) -> Serves:
    location = build.get("location")
    metadata = read_metadata(storage_for(location), ARTEFACT, secondary_index) if location else None
    if metadata is None:
        return lambda _: False
    types = known_schema(metadata).types()
    indexes = [each for each in metadata.indexes if isinstance(each, SecondaryIndex)]

    def serves(predicate: Expression) -> bool:
        return bool(served_paths(sure_predicates(predicate, types), indexes))

    return serves
