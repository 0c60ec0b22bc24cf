"""Convert segment facts to rows of the artefact ``table_facts``, and damaged segments to rows beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile, is_segment
from starskip.pinot.segments.segment_reader import read_segment_facts
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.path_text import path_text
from starskip.storage.schemas import DAMAGED_SEGMENTS, TABLE_FACTS
from starskip.tables.segment_facts import SegmentFacts


def collect_facts(files: Iterable[SegmentFile]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield, for each segment, its TABLE_FACTS rows and its DAMAGED_SEGMENTS rows; one of the two is empty.

    The map of the stage: a damaged segment is reported, and the others are read. A file that is no segment
    yields nothing.
    """
    for file in files:
        try:
            facts = read_segment_facts(file)
        except DamagedSegment as error:
            if is_segment(file):
                yield TABLE_FACTS.empty_table(), damaged_segment_row(file, error)
        else:
            yield facts_rows(file, facts), DAMAGED_SEGMENTS.empty_table()


def facts_rows(file: SegmentFile, facts: SegmentFacts) -> pa.Table:
    """Return one TABLE_FACTS row a column of the segment."""
    of_segment = {
        "table": facts.table,
        "segment": path_text(facts.segment),
        "version": facts.version,
        "rows": facts.rows,
        "source_file": path_text(file.path),
        "source_identity": source_identity(file),
    }
    count = len(facts.columns)
    arrays = []
    for field in TABLE_FACTS:
        if field.name in of_segment:
            values: list[object] = [of_segment[field.name]] * count
        elif field.name == "column":
            values = [column.name for column in facts.columns]
        elif field.name == "index_bytes":
            values = [list(column.index_bytes.items()) for column in facts.columns]
        else:
            values = [getattr(column, field.name) for column in facts.columns]
        arrays.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(arrays, schema=TABLE_FACTS)


def damaged_segment_row(file: SegmentFile, error: DamagedSegment) -> pa.Table:
    """Return the one DAMAGED_SEGMENTS row of a file that was set aside."""
    row = {
        "table": file.table,
        "source_file": path_text(file.path),
        "reason": error.reason,
        "detail": path_text(error.detail),
    }
    return pa.Table.from_pylist([row], schema=DAMAGED_SEGMENTS)


def source_identity(file: SegmentFile) -> str:
    """Return the identity of the file's version, as ``FileIdentity.to_text`` writes it."""
    return FileIdentity(path_text(file.path), file.size_bytes, file.modified_ns, file.etag).to_text()
