"""Split texts into n-grams, and find how many of them a text within an edit distance must share.

A key is the gram's UTF-8 bytes and one byte for the text's length, so that the lists of a gram are
partitioned by length, as in AsterixDB's length-partitioned inverted index.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.tables.distinct_numbers import distinct_numbers

_BITS = 21
"""Bits of a Unicode character."""
_ROW_BITS = 24
_EXACT_LENGTHS = 24
_STEPS = 8
"""Partitions for each doubling of the length, above ``_EXACT_LENGTHS``."""


@dataclass(frozen=True, slots=True)
class GramEntries:
    """Sorted ``keys`` and, rising for each, the positions of the texts that have them.

    ``grams``: the distinct grams, sorted; a key is ``place in grams * 256 + partition``.
    """

    keys: pa.Array
    rows: npt.NDArray[np.int64]
    grams: tuple[str, ...]

    def key_bytes(self, keys: pa.Array) -> pa.Array:
        """Return keys in the form of ``gram_key``."""
        numbers = keys.to_numpy()
        found = zip((numbers // 256).tolist(), (numbers % 256).tolist(), strict=True)
        return pa.array([gram_key(self.grams[gram], partition) for gram, partition in found], pa.binary())


def length_partition(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the partition of lengths in characters; it rises with the length, and fits a byte."""
    above = np.maximum(lengths, _EXACT_LENGTHS) / _EXACT_LENGTHS
    steps = np.floor(np.log2(above) * _STEPS).astype(np.int64)
    return np.minimum(np.where(lengths < _EXACT_LENGTHS, lengths, _EXACT_LENGTHS + steps), 255)


def grams_of(text: str, length: int) -> list[str]:
    """Return the distinct grams of a text, sorted."""
    return sorted({text[at : at + length] for at in range(len(text) - length + 1)})


def shared_grams(text: str, length: int, distance: int) -> int:
    """Return the least number of ``grams_of(text)`` that a text within the edit distance has, too.

    One edit touches ``length`` positions, and so at most as many distinct grams.
    """
    return len(grams_of(text, length)) - distance * length


def gram_key(gram: str, partition: int) -> bytes:
    """Return the key of a gram in a length partition."""
    return gram.encode() + bytes([partition])


def gram_entries(texts: pa.Array, length: int) -> GramEntries:
    """Return the distinct grams of each of at most 2**24 texts; null and shorter texts have none."""
    lengths = np.asarray(pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False), np.int64)
    starts = np.cumsum(lengths) - lengths
    grams = np.maximum(lengths - length + 1, 0)
    rows = np.repeat(np.arange(len(texts)), grams)
    if not len(rows):
        return GramEntries(pa.array([], pa.int64()), rows, ())
    characters = _characters(texts)
    at = starts[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(grams) - grams, grams)
    packed = np.zeros(len(rows), np.int64)
    for offset in range(length):
        packed = (packed << _BITS) | characters[at + offset]
    codes = pa.array(packed).dictionary_encode()
    distinct = codes.dictionary.to_numpy()
    # Numbers of Unicode characters compare as their UTF-8 bytes do.
    order = np.argsort(distinct)
    ranks = np.empty(len(distinct), np.int64)
    ranks[order] = np.arange(len(distinct))
    keys = ranks[codes.indices.to_numpy()] * 256 + length_partition(lengths)[rows]
    pairs = distinct_numbers((keys << _ROW_BITS) | rows)
    texts_of = tuple(_text(number, length) for number in distinct[order].tolist())
    return GramEntries(pa.array(pairs >> _ROW_BITS), pairs & ((1 << _ROW_BITS) - 1), texts_of)


def _characters(texts: pa.Array) -> npt.NDArray[np.int64]:
    content = "".join(texts.drop_null().to_pylist())
    return np.frombuffer(content.encode("utf-32-le"), np.uint32).astype(np.int64)


def _text(packed: int, length: int) -> str:
    mask = (1 << _BITS) - 1
    return "".join(chr(packed >> _BITS * place & mask) for place in reversed(range(length)))
