"""Hash whole columns of values to 64 bits, the same in every process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.skipping.splitmix64 import Hashes, mixed

_MULTIPLIER = 0x9E3779B97F4A7C15
_NULL = 0x2545F4914F6CDD1D


def value_hashes(column: pa.Array, salt: int) -> Hashes:
    """Return a 64-bit hash for each value, equal for equal text; another ``salt`` is independent."""
    encoded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    texts = encoded.dictionary.cast(pa.large_string())
    of_values = np.append(_text_hashes(texts), np.uint64(_NULL))
    if encoded.dictionary.null_count:
        of_values[:-1][np.asarray(encoded.dictionary.is_null())] = np.uint64(_NULL)
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(texts)).to_numpy()
    salted = spread(of_values ^ spread(np.array([salt], np.uint64)))
    hashes: Hashes = salted[codes]
    return hashes


def spread(numbers: Hashes) -> Hashes:
    """Return the next values of SplitMix64 from these states."""
    return mixed(numbers + np.uint64(_MULTIPLIER))


def _text_hashes(texts: pa.Array) -> Hashes:
    """Return the sum of byte times power of its place, modulo 2**64, spread."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    data = np.frombuffer(texts.buffers()[2], np.uint8)[first:last] if last > first else np.empty(0, np.uint8)
    offsets = offsets - first
    lengths = np.diff(offsets)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)), _MULTIPLIER, np.uint64))
    places = np.arange(len(data)) - np.repeat(offsets[:-1], lengths)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((data.astype(np.uint64) + 1) * powers[places])])
    return spread(sums[offsets[1:]] - sums[offsets[:-1]] + lengths.astype(np.uint64))
