"""Bounds of the texts with a common prefix, in the order of their UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.predicates.ordered_values import is_text, mask_of

LONGEST_BOUND_BYTES = 256
"""Longer bounds are shortened, so that tables of huge texts have small metadata."""
_LAST_CHARACTER = "\U0010ffff"


def first_after(prefix: bytes) -> bytes | None:
    """Return the least value above all values that begin with ``prefix``, None if none exists."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def text_after(prefix: str) -> str | None:
    """Return the least text above all texts that begin with ``prefix``, None if none exists."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    if not kept:
        return None
    # U+D7FF is followed by surrogates, which UTF-8 does not have.
    return kept[:-1] + ("\ue000" if kept[-1] == "\ud7ff" else chr(ord(kept[-1]) + 1))


def long_bounds_cut(least: pa.Array, greatest: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Shorten long lower and upper bounds of texts or binary values; null where no short bound exists."""
    return _cut(least, upper=False), _cut(greatest, upper=True)


def _cut(bounds: pa.Array, upper: bool) -> pa.Array:
    long = np.flatnonzero(mask_of(pc.greater(pc.binary_length(bounds), LONGEST_BOUND_BYTES)))
    if not len(long):
        return bounds
    of_text = is_text(bounds.type)
    values = bounds.cast(pa.binary()).take(pa.array(long)).to_pylist()
    short = [_short_text(each, upper) if of_text else _short_bytes(each, upper) for each in values]
    mask = np.zeros(len(bounds), np.bool_)
    mask[long] = True
    return pc.replace_with_mask(bounds, mask, pa.array(short, bounds.type))


def _short_bytes(value: bytes, upper: bool) -> bytes | None:
    prefix = value[:LONGEST_BOUND_BYTES]
    return first_after(prefix) if upper else prefix


def _short_text(value: bytes, upper: bool) -> str | None:
    end = LONGEST_BOUND_BYTES
    while end > LONGEST_BOUND_BYTES - 4 and value[end] & 0xC0 == 0x80:
        end -= 1
    try:
        prefix = value[:end].decode()
    except UnicodeDecodeError:
        return None
    return text_after(prefix) if upper else prefix
