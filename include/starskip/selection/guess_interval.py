"""The interval of a saving that is guessed without a log: the mix of queries itself is unknown.

The columns' shares of all entries are taken as a draw from a Dirichlet distribution around the assumed
ones, with the weight of one query a column; the saving is then summarised by the beta distribution of
the same mean and variance.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import betaincinv

from starskip.selection.saving_interval import SavingInterval

_TAIL = 0.05


def guess_interval(saved: Mapping[str, float], entries: Mapping[str, float]) -> SavingInterval:
    """Return the saved ratio with the 90 % interval around it; both mappings are by column, in entries.

    No column saves more than its entries; one that loses (another sort order) saves less than 0.
    """
    scanned = np.array([value for value in entries.values() if value > 0])
    total = float(scanned.sum())
    if total <= 0:
        return SavingInterval(0.0, 0.0, 0.0)
    ratios = np.array([saved.get(name, 0.0) / value for name, value in entries.items() if value > 0])
    shares = scanned / total
    mean = min(float(shares @ ratios), 1.0)
    variance = float(shares @ ratios**2 - mean**2) / (len(scanned) + 1)
    if not 0 < mean < 1 or variance <= 1e-12:
        return SavingInterval(mean, mean, mean)
    concentration = mean * (1 - mean) / variance - 1
    if concentration <= 0:
        return SavingInterval(mean, 0.0, 1.0)
    # The quantiles of the beta distribution; scipy.stats has them, too, and takes half a second to import.
    low, high = betaincinv(mean * concentration, (1 - mean) * concentration, [_TAIL, 1 - _TAIL])
    return SavingInterval(mean, min(float(low), mean), max(float(high), mean))
