"""Groups of a night's tables that go on alone, and the engine that each stage of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from starskip.advisor.cost.kept_windows import WINDOWS
from starskip.advisor.run.gate_verdicts import STOPPED, flagged_tables, usable_tables
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import GROUPED, stage_named
from starskip.errors import SourceError, SourceOutage, StorageError, StorageOutage
from starskip.night.collect_segment_metadata import LISTED
from starskip.night.lake_logs import event_log_bytes
from starskip.night.log_times import KnownLogs
from starskip.night.night_logs import night_logs
from starskip.night.night_tables import night_tables
from starskip.pinot.segments.segment_files import possible_segments
from starskip.storage.artefact_store import CURRENT
from starskip.storage.manifest import Part

EngineName = Literal["local", "spark"]

_TABLES_A_GROUP = 8
"""Tables that a group may have before there is a second one: each group costs tasks of its own."""
_QUERIES_OF_A_TABLE = 20_000
"""Work on a table, however few its queries are, in queries."""
_MOST_LOCAL_SEGMENTS = 5_000
_MOST_LOCAL_FACTS = 500_000
"""Rows of facts, one for each column of each segment."""
_ON_THE_LAKE = GROUPED[GROUPED.index("select_indexes") : GROUPED.index("write_report")]
"""Stages that measure, build or prove indexes on the files of lake tables, which takes Spark."""


def table_groups(night: Night) -> list[list[str]]:
    """Return the night's tables in groups of about equal work, at most ``scale.table_groups`` of them.

    Tables of the lake have groups of their own, and so have tables with too many queries for one process, if
    there may be so many groups.
    """
    tables = usable_tables(night, "queries", GROUPED[0])
    snapshot = night.store.snapshot("queries", night.date_text)
    parts = snapshot.parts(tables) if snapshot else {}
    queries = {table: parts[table].rows for table in tables}
    limit = night.settings.scale.local_queries
    kinds: dict[tuple[bool, bool], list[str]] = {}
    for table in tables:
        kinds.setdefault((table in night.lake_tables, queries[table] > limit), []).append(table)
    most = night.settings.scale.table_groups
    if len(kinds) > most:
        kinds = {(True, True): list(tables)}
    counts = dict.fromkeys(kinds, 1)
    while kinds and sum(counts.values()) < most:
        tables_a_group, fullest = max((len(kinds[kind]) / counts[kind], kind) for kind in kinds)
        if tables_a_group <= _TABLES_A_GROUP:
            break
        counts[fullest] += 1
    work = {table: queries[table] + _QUERIES_OF_A_TABLE for table in tables}
    found = [group for kind, count in counts.items() for group in _divided(kinds[kind], work, count)]
    return sorted(sorted(group) for group in found)


def _divided(tables: Iterable[str], work: Mapping[str, int], count: int) -> list[list[str]]:
    """Give each table, the largest first, to the group with the least work."""
    groups: list[list[str]] = [[] for _ in range(count)]
    for table in sorted(tables, key=lambda table: (-work[table], table)):
        min(groups, key=lambda group: sum(work[each] for each in group)).append(table)
    return groups


def forget_gone_tables(night: Night, groups: Iterable[Iterable[str]]) -> None:
    """Withdraw what an earlier run of this night has published of tables that are in no group now.

    The report of a table that a gate has stopped stays, and so do its segments' windows. A run for some
    tables alone says nothing about others.
    """
    if night.tables is not None:
        return
    left = {table for group in groups for table in group}
    stopped = flagged_tables(night, GROUPED[0]).keys()
    stages = map(stage_named, GROUPED)
    names = {name for stage in stages for name in (stage.artefact, *stage.beside, f"gate_{stage.name}")}
    # Windows are of no night: those of the tables stay if an experiment lacks one.
    current = () if night.is_experiment else (WINDOWS,)
    for artefact in (*sorted(names), STOPPED, *current):
        date = CURRENT if artefact == WINDOWS else night.date_text
        snapshot = night.store.snapshot(artefact, date)
        kept = left | stopped if artefact in ("reports", STOPPED, WINDOWS) else left
        if snapshot and (gone := set(snapshot.tables) - kept):
            night.store.publish(
                artefact,
                date,
                {},
                replace="tables",
                remove=gone,
                created_at=night.started_at,
                created_by=night.run_id,
            )


def stage_engine(night: Night, stage: str) -> EngineName:
    """Return what runs a stage of the night's tables: Spark, or this process where there is little work.

    Sources that are missing are little work, which the stage will tell.
    """
    scale = night.settings.scale
    try:
        if stage == "collect_segment_metadata":
            is_small = _are_few_segments(night, scale.local_bytes)
        elif stage == "parse_query_logs":
            is_small = _are_small_logs(night, scale.local_bytes)
        else:
            is_small = _is_little_work(night, scale.local_queries)
            if is_small and stage == "score_votes":
                is_small = _bytes_to_decode(night) <= scale.local_bytes
    except SourceOutage:
        raise
    except SourceError:
        is_small = True
    on_the_lake = stage in _ON_THE_LAKE and any(map(night.wants, night.lake_tables))
    return "local" if is_small and not on_the_lake else "spark"


def _are_few_segments(night: Night, most_bytes: int) -> bool:
    """Return whether the segments are few and small; a large deep store is listed no further than that."""
    if not night.segments_root or not most_bytes:
        return bool(most_bytes)
    files = found_bytes = 0
    for table, folder in night_tables(night).folders.items():
        try:
            listed = possible_segments(table, folder)
        except SourceOutage:
            raise
        except SourceError:
            continue  # the stage names a table without segments, and goes on with the others
        files, found_bytes = files + len(listed), found_bytes + sum(file.size_bytes for file in listed)
        if files > _MOST_LOCAL_SEGMENTS or found_bytes > most_bytes:
            return False
    return True


def _are_small_logs(night: Night, most_bytes: int) -> bool:
    neighbours = night.settings.log.read_neighbouring_days
    logs = KnownLogs(night, night_logs(night.log_paths, night.run_date, neighbours=neighbours).files)
    found_bytes = sum(file.size_bytes for file in logs.to_read)
    if night.event_log_paths:
        try:
            found_bytes += event_log_bytes(night)
        except SourceOutage:
            raise
        except SourceError:
            pass  # the stage tells the tables of the lake
    return bool(most_bytes) and found_bytes <= most_bytes


def _is_little_work(night: Night, most_queries: int) -> bool:
    """Return whether queries and facts of segments are few: choosing samples takes all facts of a table."""
    limits = {"queries": most_queries, "table_facts": _MOST_LOCAL_FACTS}
    return most_queries > 0 and all(_rows(night, artefact) <= most for artefact, most in limits.items())


def _bytes_to_decode(night: Night) -> float:
    """Return the bytes of the sampled segments of tables of which no night has decoded any, about."""
    try:
        windows = night.store.snapshot(WINDOWS, CURRENT)
    except StorageOutage:
        raise
    except StorageError:
        windows = None  # all are decoded again
    decoded = windows.tables if windows else ()
    most, found = night.settings.scoring.max_sampled_segments, 0.0
    for table, part in _parts(night, "table_facts").items():
        if table not in decoded and LISTED in part.properties:
            files, size_bytes = part.properties[LISTED]
            found += size_bytes * min(1.0, most / files)
    return found


def _rows(night: Night, artefact: str) -> int:
    return sum(part.rows for part in _parts(night, artefact).values())


def _parts(night: Night, artefact: str) -> Mapping[str, Part]:
    snapshot = night.store.snapshot(artefact, night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return {table: part for table, part in parts.items() if night.wants(table)}
