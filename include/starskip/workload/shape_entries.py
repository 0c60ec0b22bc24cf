"""Queries of a shape and what they scanned, over the nights that vote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShapeEntries:
    """What the queries of one shape scanned in filter, together."""

    queries: float
    entries: float
