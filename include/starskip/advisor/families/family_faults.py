"""Work that goes on without a user's family whose code fails in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from starskip.errors import FamilyFault, printable

Result = TypeVar("Result")

NOT_USED = "not_used"
"""Property of a table's part: families that are not used for it, each with the reason."""

_OF_EXECUTOR = re.compile(
    r"starskip\.errors\.FamilyFault: (?P<words>module .*?, line \d+: (?P<family>\w+): .*)"
)


def without_faulty(
    known: Mapping[str, str], work: Callable[[frozenset[str]], Result]
) -> tuple[Result, dict[str, str]]:
    """Return the result of ``work`` without faulty families, and these families with their faults.

    ``work`` takes the names of the families to leave out, at first those of ``known``; it runs again for each
    family that fails in it.
    """
    faults = dict(known)
    while True:
        try:
            return work(frozenset(faults)), faults
        except Exception as error:
            fault = family_fault(error)
            if fault is None or fault.family in faults:
                raise
            faults[fault.family] = str(fault)


def family_fault(error: Exception) -> FamilyFault | None:
    """Return the fault of a user's family that an error is, or that an executor reports in its text."""
    if isinstance(error, FamilyFault):
        return error
    found = _OF_EXECUTOR.search(str(error))
    return None if found is None else FamilyFault(found["words"], family=found["family"])


def fault_warnings(faults: Mapping[str, str], tables: Iterable[str] = ()) -> list[str]:
    """Return a warning for each family that is not used, for each of the ``tables`` if there are some."""
    places = [f"table {printable(table, 200)}: " for table in tables] or [""]
    return [
        f"{place}family {family} is not used: {words}" for place in places for family, words in faults.items()
    ]
