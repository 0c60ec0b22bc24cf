"""Evaluate a clause over the metadata of a table: by queries where it translates, else on its columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from starskip.file_metadata.metadata_store import StoredMetadata
from starskip.file_metadata.segment import Segment
from starskip.skipping.clause import AllOf, AnyOf
from starskip.skipping.failing_indexes import GuardedClause
from starskip.skipping.index_types.hybrid import HybridClause
from starskip.skipping.own_types import Clause, Mask

from starskip_opensearch.clause_query import (
    EVERY,
    NONE,
    Field,
    Query,
    SegmentFields,
    Translation,
    translated,
)
from starskip_opensearch.known_details import details_of
from starskip_opensearch.matching_rows import Block, TooManyRows, matching_rows
from starskip_opensearch.opensearch_client import RefusedQuery
from starskip_opensearch.opensearch_storage import OpenSearchStorage


@dataclass(frozen=True, slots=True)
class _SearchedSegment:
    """``blocks`` by group: the name and number of rows of each, in the order of the segment's rows."""

    start: int
    rows: int
    fields: SegmentFields
    blocks: Mapping[str, Sequence[tuple[str, int]]]

    def blocks_of(self, translation: Translation) -> Sequence[Block] | None:
        """Return the blocks of the groups' documents, None if the groups do not share documents."""
        found = {tuple(self.blocks[group]) for group in translation.groups}
        if len(found) != 1:
            return None
        blocks, start = [], self.start
        for name, rows in found.pop():
            blocks.append(Block(name, start, rows))
            start += rows
        return blocks


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One table's metadata, with its segments in searchable form."""

    storage: OpenSearchStorage
    metadata: StoredMetadata
    segments: Sequence[_SearchedSegment]

    @classmethod
    def of(cls, storage: OpenSearchStorage, metadata: StoredMetadata) -> Self:
        """Return the evaluation of clauses over ``metadata``."""
        start, segments = 0, []
        every = [
            file.name
            for segment in metadata.segments.values()
            for files in segment.groups.values()
            for file in files
        ]
        details_of(storage, every)
        for segment in metadata.segments.values():
            segments.append(_searched(storage, segment, start))
            start += segment.rows
        return cls(storage, metadata, segments)

    def may_match(self, clause: Clause) -> Mask:
        """Return for each file whether it may match."""
        asked = self._asked(clause)
        if asked is not None:
            return asked
        if isinstance(clause, HybridClause):
            return self._all_of([clause.listed, clause.filtered])
        if isinstance(clause, AllOf):
            return self._all_of(clause.clauses)
        if isinstance(clause, AnyOf):
            return self._any_of(clause.clauses)
        if isinstance(clause, GuardedClause) and isinstance(clause.clause, HybridClause | AllOf | AnyOf):
            return self._guarded(clause)
        return clause.may_match(self.metadata)

    def _guarded(self, clause: GuardedClause) -> Mask:
        try:
            return self.may_match(clause.clause)
        except Exception as error:
            clause.guard.failed(error)
        return np.ones(self.metadata.files, np.bool_)

    def _all_of(self, clauses: Sequence[Clause]) -> Mask:
        """Run first the parts that have a query: columns are not fetched where no file is left."""
        found = np.ones(self.metadata.files, np.bool_)
        for clause in self._parts(clauses, AllOf):
            if not found.any():
                break
            found &= self.may_match(clause)
        return found

    def _any_of(self, clauses: Sequence[Clause]) -> Mask:
        found = np.zeros(self.metadata.files, np.bool_)
        for clause in self._parts(clauses, AnyOf):
            if found.all():
                break
            found |= self.may_match(clause)
        return found

    def _parts(self, clauses: Sequence[Clause], join: type[AllOf] | type[AnyOf]) -> list[Clause]:
        """Join clauses that have a query, as long as the join has one; they come before all others."""
        asked: list[Clause] = []
        others: list[Clause] = []
        for clause in clauses:
            (asked if self._queries(clause) is not None else others).append(clause)
        return [*self._joined(asked, join), *others]

    def _joined(self, clauses: Sequence[Clause], join: type[AllOf] | type[AnyOf]) -> Iterator[Clause]:
        if len(clauses) < 2:
            yield from clauses
            return
        joined = join(tuple(clauses))
        if self._queries(joined) is not None:
            yield joined
            return
        middle = len(clauses) // 2
        yield from self._joined(clauses[:middle], join)
        yield from self._joined(clauses[middle:], join)

    def _asked(self, clause: Clause) -> Mask | None:
        """Return the answer of queries, None if the clause has none for some segment."""
        queries = self._queries(clause)
        if queries is None:
            return None
        mask = np.ones(sum(segment.rows for segment in self.segments), np.bool_)
        try:
            for query, blocks in queries:
                matching_rows(self.storage.documents, query, blocks, mask)
        except (RefusedQuery, TooManyRows):
            return clause.may_match(self.metadata)
        for segment, translation in self._translations(clause):
            if translation is not None and not translation.groups and translation.query == NONE:
                mask[segment.start : segment.start + segment.rows] = False
        return self._of_live(mask)

    def _queries(self, clause: Clause) -> Sequence[tuple[Query, Sequence[Block]]] | None:
        """Return the queries for all segments, one for segments that are searched alike."""
        alike: dict[str, tuple[Query, list[Block]]] = {}
        for segment, translation in self._translations(clause):
            if translation is None:
                return None
            if not translation.groups:
                if translation.query not in (EVERY, NONE):
                    return None
                continue
            blocks = segment.blocks_of(translation)
            if blocks is None:
                return None
            alike.setdefault(json.dumps(translation.query), (translation.query, []))[1].extend(blocks)
        return list(alike.values())

    def _translations(self, clause: Clause) -> Sequence[tuple[_SearchedSegment, Translation | None]]:
        """Return the translation for each segment with rows, made once for segments with the same fields."""
        known: dict[int, Translation | None] = {}
        found = []
        for segment in self.segments:
            if segment.rows:
                key = id(segment.fields)
                if key not in known:
                    known[key] = translated(clause, segment.fields)
                found.append((segment, known[key]))
        return found

    def _of_live(self, mask: Mask) -> Mask:
        parts = []
        for segment, positions in zip(self.segments, self.metadata.live.values(), strict=True):
            rows = mask[segment.start : segment.start + segment.rows]
            parts.append(rows if positions is None else rows[positions])
        return np.concatenate(parts) if parts else np.ones(0, np.bool_)


_fields: dict[tuple[tuple[str, tuple[tuple[str, str], ...]], ...], SegmentFields] = {}
"""The same object for the same fields, by which translations are shared."""


def _searched(storage: OpenSearchStorage, segment: Segment, start: int) -> _SearchedSegment:
    groups: dict[str, Mapping[str, Field]] = {}
    blocks = {}
    for group, files in segment.groups.items():
        details = details_of(storage, [file.name for file in files])
        shared = dict(details[0].fields) if details else {}
        for of in details[1:]:
            shared = {name: field for name, field in shared.items() if of.fields.get(name) == field}
        groups[group] = shared
        blocks[group] = [(of.block, file.rows or 0) for of, file in zip(details, files, strict=True)]
    key = tuple(
        (group, tuple(sorted((name, field.name) for name, field in of.items())))
        for group, of in sorted(groups.items())
    )
    return _SearchedSegment(start, segment.rows, _fields.setdefault(key, SegmentFields(groups)), blocks)
