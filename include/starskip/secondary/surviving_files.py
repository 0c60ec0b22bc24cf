"""Find the files that hold survivors: rows whose entries satisfy all predicates that indexes serve.

An engine that reads the files itself, such as Spark, skips the other files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from threading import RLock

import numpy as np

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Expression
from starskip.predicates.ordered_values import Mask
from starskip.predicates.padded_texts import over_padded
from starskip.secondary.access_paths import (
    AllOfPath,
    Path,
    PointPath,
    UnionPath,
    WithoutPath,
    access_paths,
    path_indexes,
)
from starskip.secondary.column_ids import known_lengths
from starskip.secondary.entries import addresses_in, file_of
from starskip.secondary.indexed_segments import known_schema, known_segments
from starskip.secondary.postings import PostingReader, Rows
from starskip.secondary.secondary_index import SecondaryIndex
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.sure_predicates import sure_predicates
from starskip.secondary.whole_files import AND, WholeFileReads, chosen_lists, path_name

_reading = RLock()
"""Runs are read by one thread at a time: several may plan queries of one table."""


@dataclass
class Survivors:
    """The paths that serve some conditions on a table, and the rows that their entries leave.

    ``names`` and ``indexes`` of each path; ``why_not``: why indexes that serve a predicate were not read;
    ``entries_read`` by index.
    """

    metadata: TableMetadata
    names: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    why_not: tuple[str, ...] = ()
    entries_read: Mapping[str, int] = field(default_factory=dict)
    _rows: tuple[Rows, ...] = ()
    _masks: dict[tuple[int, ...], Mask] = field(default_factory=dict)

    def files(self, paths: Iterable[int]) -> Mask:
        """Return the files of the metadata that hold a row of all these paths, given by their positions."""
        key = tuple(sorted(paths))
        if key not in self._masks:
            self._masks[key] = self._holding([self._rows[each] for each in key])
        return self._masks[key]

    def together(self) -> Mask | None:
        """Return the files that hold a row of all paths; None without a path."""
        return self.files(range(len(self.names))) if self.names else None

    def by_name(self) -> dict[str, Mask]:
        """Return by name the files that each path leaves to be read, and that all paths together leave."""
        found = {name: self.files([each]) for each, name in enumerate(self.names)}
        if len(self.names) > 1:
            found[AND.join(self.names)] = self.files(range(len(self.names)))
        return found

    def _holding(self, of_paths: Sequence[Rows]) -> Mask:
        found = np.zeros(self.metadata.files, np.bool_)
        for name, rows in self.metadata.row_slices.items():
            bitmaps = [each.get(name) for each in of_paths]
            if not all(bitmaps):
                continue
            common = reduce(lambda one, two: one & two, filter(None, bitmaps))
            holding = np.unique(file_of(addresses_in(common)))
            live = self.metadata.live[name]
            positions = np.arange(rows.stop - rows.start) if live is None else live
            found[rows] = np.isin(positions, holding)
        return found


def surviving_files(
    metadata: TableMetadata,
    conditions: Sequence[Expression],
    settings: SecondarySettings,
    left_out: frozenset[str] = frozenset(),
    files: Callable[[], WholeFileReads] | None = None,
) -> Survivors:
    """Return the paths that serve ``conditions``, which are ANDed, with their rows.

    ``settings``: a path of more than ``planning_entries`` is not read. ``files`` gives the costs of reading
    the files: a path that costs more is not read either. ``left_out``: columns whose values the engine may
    read otherwise than they were indexed. An index that cannot be read is left out by itself.
    """
    with _reading:
        indexes, segments = known_segments(metadata)
        types = {
            path: kind for path, kind in known_schema(metadata).types().items() if path[0] not in left_out
        }
        # Spark may take a column for another one whose name differs in case only.
        alike = Counter(column_name(path).lower() for path in types)
        types = {path: kind for path, kind in types.items() if alike[column_name(path).lower()] == 1}
        lengths = known_lengths(metadata.source.options)
        padded = (over_padded(each, lengths) for each in conditions)
        condition = Call("And", tuple(sure_predicates(each, types) for each in padded))
        paths = served_paths(condition, indexes)
        times = files().times(metadata, settings) if paths and files is not None else None
        reader = PostingReader(segments)
        found = chosen_lists(paths, reader, settings, times)
    return Survivors(
        metadata,
        tuple(path_name(path) for path, _ in found.read),
        tuple(path_indexes(path) for path, _ in found.read),
        tuple(found.why_not),
        {name: read.entries for name, read in reader.read.items() if read.entries},
        tuple(rows for _, rows in found.read),
    )


def served_paths(condition: Expression, indexes: Sequence[SecondaryIndex]) -> list[Path]:
    """Return the paths of a condition by which an engine that reads files itself can skip some."""
    paths = access_paths(condition, indexes).paths if indexes else ()
    return [path for path in paths if _leaves_some(path)]


def _leaves_some(path: Path) -> bool:
    """Return whether a path selects some rows, and all rows that satisfy its predicate among them.

    A difference removes rows, which needs exact entries; a shape comes from a function that Spark's user may
    have registered with another meaning.
    """
    match path:
        case WithoutPath():
            return False
        case PointPath(shape=shape):
            return shape is None
        case UnionPath(paths=paths) | AllOfPath(paths=paths):
            return all(map(_leaves_some, paths))
    return True
