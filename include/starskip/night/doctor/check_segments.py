"""Check segments and table configs: there are some, one of a few tables is opened, configs are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from starskip.advisor.run.night import Night
from starskip.errors import SourceError, some_of
from starskip.night.doctor.finding import FAILED, OK, WARNING, counted
from starskip.night.night_tables import night_tables
from starskip.pinot.hybrid_tables import with_halves, without_type
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.pulled_note import pulled_words
from starskip.pinot.segments.segment_files import (
    SegmentFile,
    folder_of,
    is_segment,
    segment_name,
    table_folders,
)
from starskip.storage.files.first_files import first_files

_MOST_TABLES = 5
_LISTED_FILES = 50


def check_segment_tables(night: Night, folders: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say which tables have a folder of segments."""
    yield (
        OK,
        f"{night.segments_root} has folders of {counted(len(folders), 'table')}: {some_of(folders)}",
    )
    if absent := night_tables(night).absent:
        yield FAILED, f"tables without a folder of segments: {some_of(absent)}"


def check_some_segments(night: Night, folders: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Open one segment of a few tables."""
    wanted = [table for table in folders if _is_wanted(night, table)]
    files: list[SegmentFile] = []
    for table in wanted[:_MOST_TABLES]:
        found = _first_segment(folders[table], table)
        if found is None:
            yield FAILED, f"table {table}: none of the first {_LISTED_FILES} files of its folder is a segment"
        else:
            files.append(found)
    rows = 0
    for file, (facts, damaged) in zip(files, collect_facts(files), strict=True):
        for reason in damaged.to_pylist():
            yield FAILED, f"table {file.table}: {file.path}: {reason['reason']} ({reason['detail']})"
        rows += facts["rows"][0].as_py() if facts.num_rows else 0
    if rows:
        yield OK, f"one segment was read of {some_of(file.table for file in files)}: {rows:,} rows"
    for words in pulled_words(files).values():
        yield OK, words


def check_table_configs(night: Night, folders: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say which tables have a config, and which configs cannot be read."""
    if not night.segments_root:
        return
    advice = "the report of such a table takes the indexes that its segments hold for those in force"
    if not night.table_config_paths:
        yield WARNING, f"sources.table_configs is not given: {advice}"
        return
    configs, problems = night.read_configs()
    yield from ((FAILED, str(problem)) for problem in problems.values())
    tables = with_halves([table for table in folders if _is_wanted(night, table)], configs)
    yield OK, f"{counted(len(configs), 'table config')} read: {some_of(configs)}"
    whole = {without_type(table)[0] for table in configs}
    if without := [table for table in tables if without_type(table)[0] not in whole]:
        yield WARNING, f"no config of {some_of(without)}: {advice}"


def folders_of_segments(night: Night) -> Mapping[str, str]:
    """Return the folder of each table, none where all tables lie in the lake alone. Raises SourceError."""
    return table_folders(night.segments_root) if night.segments_root else {}


def _is_wanted(night: Night, table: str) -> bool:
    return night.tables is None or folder_of(table, night.tables) is not None or table in night.tables


def _first_segment(folder: str, table: str) -> SegmentFile | None:
    try:
        listed = first_files(folder, _LISTED_FILES)
    except OSError as error:
        raise SourceError(f"table {table}: cannot read {folder}: {error.strerror}", source=table) from error
    for found in listed:
        name = segment_name(found)
        if name is not None:
            file = SegmentFile(table, name, found.path, found.size_bytes, found.modified_ns, found.etag)
            if is_segment(file):
                return file
    return None
