"""Stage verify_indexes: prove each family's built indexes against the tables without them."""

from __future__ import annotations

from starskip.advisor.families.families import families_of_night
from starskip.advisor.families.family_faults import fault_warnings
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import FamilyFault, StorageError
from starskip.execution.engine import Engine


def verify_indexes(engine: Engine, night: Night) -> StageResult:
    """Publish the verdicts of all families that prove what they build.

    They are ``verdicts``, ``skipping_verdicts`` and ``secondary_verdicts``.

    Raises StorageError, after all is published, if a family found its own files gone or damaged.
    """
    counts: dict[str, int] = {}
    warnings: list[str] = []
    damaged: StorageError | None = None
    for family in families_of_night(night).known:
        if family.proof is None:
            continue
        try:
            result = family.proof(engine, night)
        except StorageError as error:
            damaged = damaged or error
            continue
        except FamilyFault as fault:
            warnings += fault_warnings({family.name: str(fault)})
            continue
        counts |= {name: count for name, count in result.counts.items() if name not in counts}
        warnings += result.warnings
    if damaged is not None:
        raise damaged
    return StageResult(counts, tuple(warnings))
