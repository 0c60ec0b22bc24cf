"""How long the prefixes or suffixes of an index should be, measured on values (seed 003, figure 12).

With longer affixes the metadata factor rises up to that of a list of all values, and then no more, while
the metadata grows on: of lengths that read nearly as little as the longest, the shortest is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.skipping.choice.text_after import text_after
from starskip.skipping.ordered_values import order_keys, positions

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AffixLength:
    """One length: the share of files that the patterns read (weighted), and the bytes of its affixes."""

    characters: int
    read_ratio: float
    size_bytes: int


def affix_lengths(
    values: pa.ListArray, patterns: Sequence[str], weights: Sequence[float], *, of_suffixes: bool = False
) -> tuple[AffixLength, ...]:
    """Return what each length of the patterns would read and take, the shortest first.

    ``values``: texts of each file, distinct. ``patterns``: what LIKE 'pattern%' (``'%pattern'``) asks for.
    """
    if of_suffixes:
        patterns = [pattern[::-1] for pattern in patterns]
    files, texts = _sorted_texts(values, of_suffixes)
    total = float(sum(weights)) * len(values)
    found = []
    for characters in sorted({len(pattern) for pattern in patterns if pattern}):
        cut: dict[str, float] = {}
        for pattern, weight in zip(patterns, weights, strict=True):
            cut[pattern[:characters]] = cut.get(pattern[:characters], 0.0) + weight
        read = _reads(files, texts, cut, len(values))
        size = _size_bytes(files, pc.utf8_slice_codeunits(texts, 0, characters))
        found.append(AffixLength(characters, read / total if total else 0.0, size))
    return tuple(found)


def affix_length(lengths: Sequence[AffixLength], slack_ratio: float = 0.05) -> AffixLength | None:
    """Return the shortest length that reads at most ``slack_ratio`` more than the longest, None of none."""
    if not lengths:
        return None
    most = lengths[-1].read_ratio * (1 + slack_ratio)
    return next(each for each in lengths if each.read_ratio <= most + 1e-12)


def _sorted_texts(values: pa.ListArray, of_suffixes: bool) -> tuple[Positions, pa.Array]:
    files = pc.list_parent_indices(values)
    texts = pc.list_flatten(values)
    if of_suffixes:
        texts = pc.utf8_reverse(texts)
    table = pa.table({"file": files, "text": texts, "bytes": texts.cast(pa.binary())})
    table = table.sort_by([("file", "ascending"), ("bytes", "ascending")]).combine_chunks()
    ordered = table["text"].combine_chunks()
    return table["file"].to_numpy().astype(np.int64), ordered


def _reads(files: Positions, texts: pa.Array, patterns: Mapping[str, float], count: int) -> float:
    """Return the sum over files and patterns, weighted, of those where some text begins so."""
    after = [text_after(pattern) for pattern in patterns]
    lows = order_keys(pa.array(list(patterns), pa.string()))
    highs = order_keys(pa.array([each or "" for each in after], pa.string()))
    endless = np.array([each is None for each in after], np.bool_)
    amounts = np.fromiter(patterns.values(), np.float64, len(patterns))
    keys, ends = order_keys(texts), np.searchsorted(files, np.arange(count + 1))
    read = 0.0
    for file in range(count):
        own = keys[ends[file] : ends[file + 1]]
        high = np.where(endless, len(own), positions(own, highs))
        read += float(amounts[positions(own, lows) < high].sum())
    return read


def _size_bytes(files: Positions, affixes: pa.Array) -> int:
    """Return the bytes of the distinct affixes of each file, whose texts are sorted."""
    if not len(affixes):
        return 0
    same = np.asarray(pc.equal(affixes[1:], affixes[:-1]).to_numpy(zero_copy_only=False))
    is_new = np.concatenate([[True], ~same | (files[1:] != files[:-1])])
    return int(pc.binary_length(affixes).to_numpy()[is_new].sum())
