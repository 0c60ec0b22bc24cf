"""Tell those who watch a deployment of a stage: metrics by Airflow's stats, datasets to OpenLineage.

Neither is any reason for a task to fail: what goes wrong here is a warning in its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starskip.advisor.run.stages import Stage, stage_named
from starskip.airflow.progress_line import show_progress
from starskip.errors import first_line
from starskip.night.job_receipt import JobReceipt

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

_READ_SEGMENTS = ("collect_segment_metadata", "score_votes")
_READ_LOGS = ("parse_query_logs",)
_PATTERN = re.compile(r"[^/]*[{*?\[].*", re.DOTALL)
"""The rest of a path from the first folder or file on whose name differs by day, or stands for several."""


@dataclass(frozen=True, slots=True)
class StageData:
    """The places that a stage read, and those it wrote, each with rows and bytes of the night's tables.

    Places of artefacts are without their night: of each there is one in a graph of lineage.
    """

    read: Sequence[str]
    written: Sequence[tuple[str, int, int]]


def watched_stage(night: Night, receipt: JobReceipt, dag_id: str) -> StageData | None:
    """Send the metrics of a stage that has published, and return what it read and wrote, for OpenLineage.

    None of an experiment, which belongs in no lineage, and if it could not be read.
    """
    try:
        data = _stage_data(night, stage_named(receipt.stage))
        _send(receipt, data, dag_id)
    except Exception as error:
        show_progress(f"{receipt.stage}: warning: no metrics and no lineage: {first_line(error)}")
        return None
    return None if night.is_experiment else data


def operator_lineage(data: StageData | None) -> Any:
    """Return the datasets of a stage as OpenLineage's provider takes them, which must be installed."""
    from airflow.providers.common.compat.openlineage.facet import (
        InputDataset,
        OutputDataset,
        OutputStatisticsOutputDatasetFacet,
    )
    from airflow.providers.openlineage.extractors import OperatorLineage

    if data is None:
        return OperatorLineage()

    def facets(rows: int, size_bytes: int) -> dict[str, Any]:
        return {"outputStatistics": OutputStatisticsOutputDatasetFacet(rowCount=rows, size=size_bytes)}

    return OperatorLineage(
        inputs=[InputDataset(*dataset_name(place)) for place in data.read],
        outputs=[
            OutputDataset(*dataset_name(place), outputFacets=facets(rows, size_bytes))
            for place, rows, size_bytes in data.written
        ],
    )


def dataset_name(place: str) -> tuple[str, str]:
    """Return namespace and name of a place by OpenLineage's rules: those of a bucket, or of a file."""
    parsed = urlsplit(place)
    if not parsed.netloc:
        return "file", parsed.path
    return f"{parsed.scheme}://{parsed.netloc.rpartition('@')[2]}", parsed.path.strip("/") or "/"


def _send(receipt: JobReceipt, data: StageData, dag_id: str) -> None:
    from airflow.sdk.observability.stats import Stats

    tags = {"stage": receipt.stage, "engine": receipt.engine, "dag_id": dag_id}
    memory = receipt.peak_memory_bytes + (receipt.jvm_peak_memory_bytes or 0)
    Stats.timing("starskip.stage.duration", timedelta(seconds=receipt.seconds), tags=tags)
    Stats.gauge("starskip.stage.peak_memory_bytes", memory, tags=tags)
    # Groups of tables add up in a counter. A gauge of each would be that of the group which ended last.
    Stats.incr("starskip.stage.rows", sum(rows for _, rows, _ in data.written), tags=tags)
    Stats.incr("starskip.stage.bytes", sum(size for *_, size in data.written), tags=tags)


def _stage_data(night: Night, stage: Stage) -> StageData:
    return StageData(list(dict.fromkeys(_read(night, stage))), list(_written(night, stage)))


def _read(night: Night, stage: Stage) -> Iterator[str]:
    if stage.name in _READ_SEGMENTS and night.segments_root:
        yield night.segments_root
    if stage.name in _READ_LOGS:
        for path in (*night.log_paths, *night.event_log_paths):
            yield _PATTERN.sub("", path).rstrip("/") or "/"
    if stage.made_of:
        yield f"{night.store.storage.place}/{stage.made_of}"


def _written(night: Night, stage: Stage) -> Iterator[tuple[str, int, int]]:
    for artefact in (stage.artefact, *stage.beside):
        snapshot = night.store.snapshot(artefact, night.date_text)
        if snapshot is None:
            continue
        files = [file for part in snapshot.parts(night.tables).values() for file in part.files]
        rows, size_bytes = sum(file.rows or 0 for file in files), sum(file.size_bytes for file in files)
        yield f"{night.store.storage.place}/{artefact}", rows, size_bytes
