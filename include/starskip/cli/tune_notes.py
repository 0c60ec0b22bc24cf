"""Notes of ``starskip tune`` beside its advice: its basis, and tables without advice."""

from __future__ import annotations

from collections.abc import Iterator

from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest


def unadvised(request: TuneRequest, answer: TuneAnswer) -> Iterator[str]:
    """Yield a warning that names tables with a config and without advice: their names may be misspelt."""
    known = {each.table for each in answer.tables} | answer.failures.keys()
    given = sorted(request.configs.items())
    left = [name for name, configs in given if not any(map(configs[0].is_of, known))]
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        missing = "query in the log" if request.log_paths else "segment"
        yield f"--table-config: no advice for {', '.join(left[:3])}{more}: no {missing} of such a table"


def basis_of(request: TuneRequest) -> str:
    """Return the basis of the advice, if it is less than all that was asked for."""
    if not request.log_paths:
        asked = "weighted as given" if request.column_weights else "every column queried equally"
        return f"A guess without a log, from cardinalities alone: {asked}."
    if not request.metadata_path:
        return ""
    if request.settings.scoring.strategy == "leapfrog":
        return "Strategy estimation: leapfrog needs rows of segments, and the metadata has none."
    return f"Strategy {request.settings.scoring.strategy}; savings are estimated from the metadata."
