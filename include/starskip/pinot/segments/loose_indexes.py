"""Find the indexes of a v1 segment, each a file named by column and suffix (V1Constants)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

_LOOSE_INDEXES = {
    ".dict": "dictionary",
    ".sv.unsorted.fwd": "forward_index",
    ".sv.sorted.fwd": "forward_index",
    ".sv.raw.fwd": "forward_index",
    ".mv.raw.fwd": "forward_index",
    ".mv.fwd": "forward_index",
    ".bitmap.inv": "inverted_index",
    ".bitmap.range": "range_index",
    ".bitmap.nullvalue": "nullvalue_vector",
    ".bloom": "bloom_filter",
    ".json.idx": "json_index",
    ".h3.idx": "h3_index",
    ".fst": "fst_index",
    ".ifst": "ifst_index",
    ".text.index": "text_index",
    ".nativetext.idx": "text_index",
}
_INDEX_FOLDERS = {".lucene": "text_index", ".vector": "vector_index"}


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """The bytes of one index: ``size`` from ``offset`` of the tar's ``member``, any magic left out."""

    member: str
    offset: int
    size: int
    magic: bytes = b""


def loose_indexes(
    columns: Collection[str], folder: str, sizes: Mapping[str, int]
) -> tuple[dict[str, dict[str, int]], dict[tuple[str, str], IndexPlace]]:
    """Return the sizes by column and index id, and the places, of the files in ``folder``.

    ``sizes`` are all members of the tar; a member that belongs to no column is ignored.
    """
    index_bytes: dict[str, dict[str, int]] = {}
    places: dict[tuple[str, str], IndexPlace] = {}
    prefix = f"{folder}/" if folder else ""
    for member, size in sizes.items():
        if not member.startswith(prefix):
            continue
        name, _, inner = member[len(prefix) :].partition("/")
        found = _column_and_index(name, columns)
        if found is None:
            continue
        column, index_id = found
        of_column = index_bytes.setdefault(column, {})
        of_column[index_id] = of_column.get(index_id, 0) + size
        if not inner:
            places[found] = IndexPlace(member, 0, size)
    return index_bytes, places


def _column_and_index(name: str, columns: Collection[str]) -> tuple[str, str] | None:
    """Split a file name; column names may hold dots, so the longest that is a column wins."""
    stem = name
    while "." in stem:
        stem = stem.rpartition(".")[0]
        if stem in columns:
            index_id = _index_id(name[len(stem) :])
            if index_id is not None:
                return stem, index_id
    return None


def _index_id(suffix: str) -> str | None:
    if suffix in _LOOSE_INDEXES:
        return _LOOSE_INDEXES[suffix]
    if suffix.endswith((".fst", ".ifst")):
        return suffix.rpartition(".")[2] + "_index"
    return next((found for start, found in _INDEX_FOLDERS.items() if suffix.startswith(start)), None)
