"""Pull one table of a live Pinot: config, schema, and of its segments the metadata and rows of some.

What is pulled is gathered aside, and each file moved in one step at the end: a pull that is killed leaves
what the last one wrote.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from starskip.errors import AccessRefused, MissingSource, SourceError, SourceOutage
from starskip.execution.progress import Progress
from starskip.pinot.cluster.open_cluster import PinotCluster
from starskip.pinot.cluster.pulled_metadata import metadata_texts, total_rows
from starskip.pinot.cluster.segment_rows import SegmentQuestion, segment_rows
from starskip.pinot.config_columns import ConfigColumns
from starskip.pinot.hybrid_tables import half_name
from starskip.pinot.segments.metadata_properties import parse_properties
from starskip.pinot.segments.pulled_note import NOTE_FILE, PulledNote
from starskip.pinot.segments.pulled_rows import MAX_PULLED_ROWS, NO_ROWS, pulled_members
from starskip.pinot.segments.segment_metadata import read_segment_metadata

SEGMENTS, CONFIGS, SCHEMAS = "segments", "configs", "schemas"
MOST_SEGMENTS = 1_000
"""Segments of a table whose metadata is read, one request each; of more, evenly spread ones."""
_FEWEST_ROWS = 256
_IN_PROGRESS = "IN_PROGRESS"
_ANY_RELEASE = (1, 0)
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class PullBounds:
    """The settings of sampling: segments of a table whose rows are read, and these rows in all."""

    sampled_segments: int
    rows_per_table: int


def pull_table(
    cluster: PinotCluster, table: str, out: Path, bounds: PullBounds, progress: Progress
) -> list[PulledNote]:
    """Write the table below ``out``, in the place of what an earlier pull wrote of it; a note on each type.

    Raises SourceError where something of the table cannot be read, or its folder is not of a pull.
    """
    _check_name(table, "table")
    configs = cluster.controller.table_configs(table)
    schema = cluster.controller.schema(table)
    sizes = _segment_bytes(cluster, table)
    is_hybrid = len(configs) > 1
    folders = {kind: half_name(table, kind if is_hybrid else None) for kind in configs}
    notes = []
    with ExitStack() as left_over:
        for kind, folder in folders.items():
            _check_ours(out / SEGMENTS / folder)
            aside = out / SEGMENTS / f".{folder}.pulling"
            shutil.rmtree(aside, ignore_errors=True)
            left_over.callback(shutil.rmtree, aside, ignore_errors=True)
            aside.mkdir(parents=True)
            note = _pull_segments(cluster, f"{table}_{kind}", aside, bounds, sizes, progress)
            tiers = ConfigColumns(configs[kind], {}, _ANY_RELEASE).tiers()
            notes.append(replace(note, tiers=tuple(tiers)))
            (aside / NOTE_FILE).write_text(notes[-1].to_json())
        for folder in folders.values():
            _replace_folder(out / SEGMENTS / f".{folder}.pulling", out / SEGMENTS / folder)
    _write(out / SCHEMAS / f"{table}.json", schema)
    _write(out / CONFIGS / f"{table}.json", configs)
    for former in {half_name(table, kind) for kind in (None, "OFFLINE", "REALTIME")} - set(folders.values()):
        if (out / SEGMENTS / former / NOTE_FILE).exists():
            shutil.rmtree(out / SEGMENTS / former)
    return notes


def _pull_segments(
    cluster: PinotCluster,
    table: str,
    folder: Path,
    bounds: PullBounds,
    sizes: Mapping[str, int],
    progress: Progress,
) -> PulledNote:
    names = _in_files_order(set(cluster.controller.segments(table)) - _consuming(cluster, table))
    found = {
        segment: counts[0]
        for segment in progress(f"metadata of {table}", _spread(names, MOST_SEGMENTS))
        if (counts := _pull_segment(cluster, table, segment, folder, sizes, max_rows=0))
    }
    if names and not found:
        raise SourceOutage(f"{table}: no server tells the metadata of its segments", source=table)
    sampled = _spread(list(found), bounds.sampled_segments)
    share = max(bounds.rows_per_table // max(len(sampled), 1), _FEWEST_ROWS)
    pulled = 0
    for segment in progress(f"rows of {table}", sampled):
        counts = _pull_segment(cluster, table, segment, folder, sizes, min(share, MAX_PULLED_ROWS))
        pulled += counts[1] if counts else 0
    return PulledNote(table, len(found), len(names), sum(found.values()), len(sampled), pulled)


def _pull_segment(
    cluster: PinotCluster, table: str, segment: str, folder: Path, sizes: Mapping[str, int], max_rows: int
) -> tuple[int, int] | None:
    """Write a segment with at most so many rows, and return its rows and those.

    None if it is gone, is still being filled, or could be loaded by no server.
    """
    _check_name(segment, "segment")
    try:
        answer = cluster.controller.segment_metadata(table, segment)
    except MissingSource:
        return None
    is_consuming = _IN_PROGRESS in (answer.get("segment.realtime.status"), answer.get("segment.status"))
    if is_consuming or not answer.get("columns"):
        return None
    size = sizes.get(segment, 0)
    rows = segment_rows(cluster.broker, _question(table, segment, answer), max_rows) if max_rows else NO_ROWS
    texts = metadata_texts(table, segment, answer, size, rows.rows.num_rows)
    _write_tar(folder / f"{segment}.tar.gz", segment, {**texts, **pulled_members(rows)})
    return total_rows(answer), rows.rows.num_rows


def _question(table: str, segment: str, answer: Mapping[str, Any]) -> SegmentQuestion:
    texts = metadata_texts(table, segment, answer, 0, 0)
    metadata = read_segment_metadata(table, parse_properties(texts["metadata.properties"]))
    nullable = {
        name
        for name, indexes in (answer.get("indexes") or {}).items()
        if indexes.get("null-value-vector-reader") == "YES"
    }
    return SegmentQuestion(table, segment, metadata.rows, metadata.columns, nullable)


def _consuming(cluster: PinotCluster, table: str) -> set[str]:
    """Return the segments that are still being filled; they are in no deep store either."""
    if not table.endswith("_REALTIME"):
        return set()
    try:
        return set(cluster.controller.consuming_segments(table))
    except AccessRefused:
        return set()  # their metadata says so, too


def _segment_bytes(cluster: PinotCluster, table: str) -> dict[str, int]:
    """Return the bytes of each segment on a server, none where the role may not read them."""
    try:
        sizes = cluster.controller.sizes(table)
    except AccessRefused:
        return {}
    found: dict[str, int] = {}
    for kind in ("offlineSegments", "realtimeSegments"):
        for segment, of_segment in ((sizes.get(kind) or {}).get("segments") or {}).items():
            servers = (of_segment.get("serverInfo") or {}).values()
            found[segment] = max((int(each.get("diskSizeInBytes") or 0) for each in servers), default=0)
    return found


def _in_files_order(names: Iterable[str]) -> list[str]:
    """Return the segments as the reader of the folder sorts their files: it takes evenly spread ones, too."""
    return sorted(names, key=lambda name: f"{name}.tar.gz")


def _spread(names: Sequence[str], most: int) -> Sequence[str]:
    count = min(len(names), most)
    return [names[place * len(names) // count] for place in range(count)]


def _check_name(name: str, what: str) -> None:
    if not name or name.startswith(".") or "/" in name or not name.isprintable():
        raise SourceError(f"the name of {what} {name} cannot be that of a file or folder", source=name)


def _check_ours(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / NOTE_FILE).exists():
        words = f"{folder} holds files that no pull has written: give another folder, or empty it"
        raise SourceError(words, source=str(folder))


def _write_tar(file: Path, segment: str, members: Mapping[str, bytes]) -> None:
    with tarfile.open(file, "w:gz", compresslevel=1) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(f"{segment}/v3/{name}")
            member.size = len(content)
            tar.addfile(member, BytesIO(content))


def _replace_folder(aside: Path, folder: Path) -> None:
    """Move what was gathered to its place, the note at the end, and remove what is no more."""
    if not folder.exists():
        aside.rename(folder)
        return
    new = {each.name for each in aside.iterdir()}
    for name in sorted(new - {NOTE_FILE}):
        (aside / name).replace(folder / name)
    for each in folder.iterdir():
        if each.name not in new:
            each.unlink()
    (aside / NOTE_FILE).replace(folder / NOTE_FILE)
    aside.rmdir()


def _write(file: Path, document: Mapping[str, Any]) -> None:
    """Write JSON that its owner alone can read: a config may hold passwords of streams."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.pulling")
    aside.touch(_PRIVATE)
    aside.write_text(json.dumps(document, indent=2, ensure_ascii=False))
    aside.replace(file)
