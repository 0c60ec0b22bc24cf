"""Pieces of a headline: our words, and names from outside, which every format escapes its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_NAMES = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence: our words, or a ``name`` from outside that every format escapes its own way."""

    text: str
    is_name: bool = False


def name_pieces(names: Sequence[str]) -> Iterable[Piece]:
    """Yield the first names with commas between them, and how many more there are."""
    for i, name in enumerate(names[:MAX_NAMES]):
        if i:
            yield Piece(", ")
        yield Piece(name, is_name=True)
    if (more := len(names) - MAX_NAMES) > 0:
        yield Piece(f" and {more} more")
