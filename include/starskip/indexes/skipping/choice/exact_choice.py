"""Solve the choice of indexes as a mixed integer linear programme.

See "Extensible Data Skipping", problem 8, here with interactions. There is a 0/1 variable y for each index, x
for each bundle of several, z for each pattern: maximise sum weight * z - sum must * y subject to z_p <= the
sum of x over its bundles, x_b <= y_i for i in b, and sum size * y <= budget. Given y, the best x and z are 0
or 1, so only y has to be integral.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, vstack

from starskip.indexes.skipping.choice.coverage import Amounts, Coverage, Positions, Solution

_GAP_RATIO = 1e-9
_MAX_CUTS = 50


def exact_choice(task: Coverage, node_limit: int) -> Solution | None:
    """Return the best set, or the incumbent and its bound at ``node_limit``; None without an incumbent."""
    indexes, patterns = len(task.indexes), len(task.weights)
    scale = max(float(task.weights.max(initial=0.0)), float(np.abs(task.must).max(initial=0.0)), 1e-300)
    matrix, bundles = _covering(task)
    upper = np.zeros(matrix.shape[0])
    costs = np.concatenate([task.must, np.zeros(bundles), -task.weights]) / scale
    integrality = np.concatenate([np.ones(indexes), np.zeros(bundles + patterns)])
    if task.budget_bytes is not None:
        # Shares of the budget: the solver's tolerances are absolute.
        shares = np.zeros((1, matrix.shape[1]))
        shares[0, :indexes] = np.array(task.sizes, np.float64) / max(task.budget_bytes, 1)
        matrix = vstack([matrix, csr_array(shares)], format="csr")
        upper = np.append(upper, 1.0 if task.budget_bytes else 0.0)
    for _ in range(_MAX_CUTS):
        answer = milp(
            costs,
            integrality=integrality,
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, ub=upper) if matrix.shape[0] else (),
            options={"mip_rel_gap": _GAP_RATIO, "node_limit": node_limit},
        )
        if answer.x is None:
            return None
        chosen = frozenset(int(number) for number in np.flatnonzero(answer.x[:indexes] > 0.5))
        if task.fits(chosen):
            proved = answer.fun if answer.mip_dual_bound is None else answer.mip_dual_bound
            return Solution(chosen, max(-float(proved) * scale, task.value(chosen)))
        # Over budget within the solver's tolerance: cut off this set and its supersets.
        cut = np.zeros((1, matrix.shape[1]))
        cut[0, sorted(chosen)] = 1.0
        matrix = vstack([matrix, csr_array(cut)], format="csr")
        upper = np.append(upper, len(chosen) - 1.0)
    return None


def _covering(task: Coverage) -> tuple[csr_array, int]:
    """Return the rows z_p - sum x_b <= 0 and x_b - y_i <= 0, and the number of bundles of several indexes."""
    indexes, patterns = len(task.indexes), len(task.weights)
    several = [number for number, bundle in enumerate(task.bundles) if len(bundle) > 1]
    variable = np.array([min(bundle) for bundle in task.bundles], np.int64)
    variable[several] = indexes + np.arange(len(several))
    needs = [(variable[number], index) for number in several for index in sorted(task.bundles[number])]
    pairs = np.array(needs, np.int64).reshape(-1, 2)
    ties = patterns + np.arange(len(pairs))
    first_pattern = indexes + len(several)
    rows = np.concatenate([np.arange(patterns), task.pattern_of_pair, ties, ties])
    columns = np.concatenate(
        [first_pattern + np.arange(patterns), variable[task.bundle_of_pair], pairs[:, 0], pairs[:, 1]]
    )
    values = np.concatenate(
        [_all(patterns, 1), _all(task.pattern_of_pair, -1), _all(ties, 1), _all(ties, -1)]
    )
    shape = (patterns + len(pairs), first_pattern + patterns)
    return csr_array(coo_array((values, (rows, columns)), shape=shape)), len(several)


def _all(like: Positions | int, value: float) -> Amounts:
    return np.full(like if isinstance(like, int) else len(like), value)
