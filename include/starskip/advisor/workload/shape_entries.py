"""Queries of one shape and their entries scanned, over the nights that vote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShapeEntries:
    """The entries that the queries of one shape scanned in filter, together."""

    queries: float
    entries: float
