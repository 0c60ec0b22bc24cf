"""Approximate functions of both, each held against its own bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pinot.built_case import BuiltCase
from pinot.compare_exact import rows_of
from pinot.compared_answers import OUR_BOUNDS, PINOTS_BOUNDS, Errors, distinct_count_error, rank_error
from pinot.pinots_rules import documents_scanned
from pinot.raw_rows import RawRows
from pinot.running_pinot import RunningPinot
from pinot.star_tree_cases import APPROXIMATE, APPROXIMATE_GROUPS, Query
from starskip.star_tree.serving.answer_sql import answer_sql


def compare_approximate(built: Sequence[BuiltCase], pinot: RunningPinot, raw: RawRows) -> list[str]:
    """Ask all functions with all groups, print the greatest errors; return what is outside of its bound."""
    print(
        "\nApproximate answers: the greatest error of all groups, the bound, and how many are outside of it"
    )
    print("(of a count: relative; of a percentile: in ranks)\n")
    for name, bounds in (("Pinot", PINOTS_BOUNDS), ("ours", OUR_BOUNDS)):
        print(f"  {name:<6}" + "; ".join(f"{function}: {bound.text}" for function, bound in bounds.items()))
    print(
        f"\n{'tree':<18} {'function':<38} {'groups':>6} {'Pinot':>8} {'bound':>6} {'out':>3} "
        f"{'ours':>8} {'bound':>6} {'out':>3}"
    )
    problems: list[str] = []
    for each in built:
        for call in APPROXIMATE:
            theirs, ours = _errors(each, call, pinot, raw, problems)
            cells = " ".join(
                f"{max(of.found):>8.2%} {of.bound.ratio:>6.1%} {of.outside:>3}" for of in (theirs, ours)
            )
            print(f"{each.case.name:<18} {call:<38} {len(ours.found):>6} {cells}")
            for name, of in (("Pinot", theirs), ("ours", ours)):
                if not of.is_within:
                    problems.append(
                        f"{each.case.name}: {call}: {name}: {of.outside} of {len(of.found)} outside"
                    )
    return problems


def _errors(
    each: BuiltCase, call: str, pinot: RunningPinot, raw: RawRows, problems: list[str]
) -> tuple[Errors, Errors]:
    function, _, arguments = call.rstrip(")").partition("(")
    theirs, ours = Errors(PINOTS_BOUNDS[function]), Errors(OUR_BOUNDS[function])
    for group_by in APPROXIMATE_GROUPS:
        sql = Query(call, group_by=group_by).sql(each.case.name)
        values = raw.sorted_values(arguments.partition(",")[0], group_by)
        answered, asked = answer_sql(each.trees, sql), pinot.ask(sql)
        scanned = sum(documents_scanned(tree, {}, group_by)[0] for tree in each.of_segments)
        # Without a group Pinot counts distinct values by the column's dictionary, and calls all rows scanned.
        is_of_dictionary = function == "DISTINCTCOUNTHLL" and not group_by
        if not answered.star_tree or asked.documents_scanned != (each.rows if is_of_dictionary else scanned):
            problems.append(f"{each.case.name}: {sql}\n    is not answered from both trees")
        for errors, rows, is_cut in ((theirs, asked.rows, True), (ours, rows_of(answered.table), False)):
            found = {tuple(row[:-1]): float(row[-1]) for row in rows}
            if found.keys() != values.keys():
                problems.append(f"{each.case.name}: {sql}\n    {len(found)} groups, the rows {len(values)}")
            shared = found.keys() & values.keys()
            errors.found += [_error(call, found[key], values[key], is_cut=is_cut) for key in shared]
    return theirs, ours


def _error(call: str, found: float, values: npt.NDArray[np.float64], *, is_cut: bool) -> float:
    if call.startswith("DISTINCTCOUNT"):
        return distinct_count_error(found, values)
    percentile = float(call.rstrip(")").rpartition(",")[2])
    return rank_error(found, percentile, values, is_cut=is_cut and call.startswith("PERCENTILEEST"))
