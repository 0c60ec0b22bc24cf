"""The choice of one table's skipping indexes as rows and properties of artefacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.advisor.families.file_indexes.index_choice import IndexChoice
from starskip.advisor.families.file_indexes.own_statistics import OwnStatistics
from starskip.advisor.families.index import Index
from starskip.advisor.families.lake_workload import LakeWorkload
from starskip.advisor.families.skipping.advice.measured_benefit import CountedRows, read_files
from starskip.advisor.families.skipping.choice.layout_notice import (
    LayoutNotice,
    QueryLayout,
    column_shares,
    layout_notice,
)
from starskip.advisor.families.skipping.indicators import Indicators, IndicatorState, WorkloadIndicators
from starskip.advisor.families.skipping.settings import SKIPPING_NAME
from starskip.advisor.families.verdict import Reason, refused
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Expression
from starskip.skipping.skipping_index import SkippingIndex
from starskip.sql.masking import mask_failure

NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class SkippingAdvice:
    """Rows of SKIPPING_ADVICE and SKIPPING_SHAPES, and the properties of the advice's part."""

    advice: Sequence[Mapping[str, Any]] = ()
    shapes: Sequence[Mapping[str, Any]] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)


def advise_skipping(
    table: str,
    workload: LakeWorkload,
    metadata: TableMetadata,
    counted: CountedRows,
    sample: Mapping[str, pa.Array],
    choice: IndexChoice,
    budget_bytes: int | None,
    *,
    faults: Mapping[str, str] | None = None,
    covered: Mapping[str, str] | None = None,
    own: OwnStatistics | None = None,
) -> SkippingAdvice:
    """Return the advice for ``table``; ``choice`` holds the indexes chosen within ``budget_bytes``.

    ``metadata``: of all candidates. ``sample``: values of some rows by column. ``faults``: candidates that
    the table cannot have. ``covered``: candidates that its format has itself. ``own``: the format's own
    statistics, beside which savings are counted.
    """
    names = {each.index.column for each in choice.chosen}
    chosen = [index for index in metadata.indexes if index.specification in names]
    measured = counted.indicators(workload.queries, metadata, chosen, own)
    saved = [_saving_ratio(query.predicate, metadata, chosen, own) for query in workload.queries]
    weights = np.array([workload.queries[each].weight for each in counted.positions])
    means = measured.geometric_means(weights) if len(weights) else None
    notice = _layout(workload.queries, counted, measured, sample, metadata)
    verdicts = measured.verdicts()
    properties = {
        "note": None,
        "files": metadata.files,
        "rows": metadata.total_rows,
        "bytes": int(metadata.sizes.sum()),
        "queries": sum(query.weight for query in workload.queries) + workload.unweighed,
        "total_bytes": choice.total,
        "saving_ratio": choice.saving_ratio,
        "size_bytes": choice.size_bytes,
        "budget_bytes": budget_bytes,
        "sentence": choice.sentence,
        "sampled_files": len(counted.files),
        "means": _factors(means),
        "counts": {
            **{each.value: verdicts.get(each, 0) for each in IndicatorState},
            NOT_EVALUATED: len(counted.faults),
        },
        "layout": notice.sentence if notice else None,
        "relayout": list(notice.relayout.columns) if notice and notice.relayout else [],
    }
    return SkippingAdvice(
        _advice_rows(table, choice, faults or {}, covered or {}),
        _shape_rows(table, workload, counted, measured, saved),
        properties,
    )


def _saving_ratio(
    predicate: Expression,
    metadata: TableMetadata,
    chosen: Sequence[SkippingIndex],
    own: OwnStatistics | None,
) -> float:
    """Return the share of a query's bytes that the chosen indexes save."""
    before, read = (read_files(predicate, metadata, each, own) for each in ((), chosen))
    return 1.0 - float(metadata.sizes[read].sum()) / max(float(metadata.sizes[before].sum()), 1.0)


def _factors(of: Indicators | None) -> dict[str, float] | None:
    return asdict(of) if of is not None else None


def _advice_rows(
    table: str, choice: IndexChoice, faults: Mapping[str, str], covered: Mapping[str, str]
) -> list[dict[str, Any]]:
    ranked = [(each, rank) for rank, each in enumerate(choice.chosen, start=1)]
    not_measured = [
        refused(Index(SKIPPING_NAME, name), reason, detail, None)
        for reason, details in ((Reason.COVERED_BY_FORMAT, covered), (Reason.CANNOT_BE, faults))
        for name, detail in details.items()
    ]
    others = [(each, None) for each in (*choice.refused, *not_measured)]
    return [
        {**each.to_row(rank), "table": table, "index": each.index.column} for each, rank in (*ranked, *others)
    ]


def _layout(
    queries: Sequence[LakeQuery],
    counted: CountedRows,
    measured: WorkloadIndicators,
    sample: Mapping[str, pa.Array],
    metadata: TableMetadata,
) -> LayoutNotice | None:
    rows = counted.matching.rows
    if not len(rows) or not rows.sum():
        return None
    layouts = []
    for number, position in enumerate(counted.positions):
        found = measured.query(number)
        if isinstance(found, Indicators):
            query = queries[position]
            shares = column_shares(query.predicate, sample)
            layouts.append(QueryLayout(query.weight, found.selectivity, found.layout_factor, shares))
    all_rows = int(rows.mean() * metadata.files)
    return layout_notice(layouts, files=metadata.files, rows=all_rows)


def _shape_rows(
    table: str,
    workload: LakeWorkload,
    counted: CountedRows,
    measured: WorkloadIndicators,
    saved: Sequence[float],
) -> list[dict[str, Any]]:
    """Return one row for each shape, in descending order of bytes read."""
    by_shape: dict[str, list[int]] = {}
    for position, query in enumerate(workload.queries):
        by_shape.setdefault(query.shape_id, []).append(position)
    place = {position: number for number, position in enumerate(counted.positions)}
    rows = []
    for shape in sorted(workload.shapes.values(), key=lambda each: (-each.bytes_read, each.shape_id)):
        positions = by_shape.get(shape.shape_id, [])
        rows.append(
            {
                "table": table,
                "shape_id": shape.shape_id,
                "skeleton": shape.skeleton,
                "queries": shape.queries,
                "bytes_read": shape.bytes_read,
                "saving_ratio": float(np.mean([saved[each] for each in positions])) if positions else None,
                **_indicators(positions, place, counted.faults, measured),
            }
        )
    return rows


def _indicators(
    positions: Sequence[int],
    place: Mapping[int, int],
    faults: Mapping[int, str],
    measured: WorkloadIndicators,
) -> dict[str, Any]:
    numbers = [place[each] for each in positions if each in place]
    if not numbers:
        reason = next((faults[each] for each in positions if each in faults), "others were counted first")
        return {"verdict": NOT_EVALUATED, "detail": mask_failure(reason), "instances": 0}
    verdicts = [measured.verdict(each) for each in numbers]
    if IndicatorState.ROWS_LOST in verdicts:
        return {"verdict": IndicatorState.ROWS_LOST.value, "instances": len(numbers)}
    found = [each for number in numbers if isinstance(each := measured.query(number), Indicators)]
    if not found:
        return {"verdict": IndicatorState.NO_MATCHING_ROWS.value, "instances": len(numbers)}
    logs = np.log([list(asdict(each).values()) for each in found])
    means = np.exp(logs.mean(axis=0)).tolist()
    return {
        "verdict": IndicatorState.DEFINED.value,
        "instances": len(found),
        **dict(zip(asdict(found[0]), means, strict=True)),
    }
