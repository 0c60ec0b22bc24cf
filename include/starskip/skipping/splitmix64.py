"""The finaliser of SplitMix64 (Steele et al. 2014), which spreads the bits of numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


def mixed(numbers: Hashes) -> Hashes:
    """Return numbers whose bits depend on all bits of the input."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
