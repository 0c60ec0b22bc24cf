"""Expand ranges of documents or nodes into positions."""

from __future__ import annotations

import numpy as np

from starskip.star_tree.measures.measure_array import Positions


def range_positions(starts: Positions, ends: Positions) -> Positions:
    """Return all positions of the ranges ``[start, end)``, one range after the other."""
    lengths = ends - starts
    offsets = np.cumsum(lengths) - lengths
    positions: Positions = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
    return positions
