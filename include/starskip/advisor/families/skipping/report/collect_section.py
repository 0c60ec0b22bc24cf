"""Collect the report's section on a table's skipping indexes from the artefacts of a night."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from statistics import fmean
from typing import Any

from starskip.advisor.families.skipping.artefacts import ADVICE, BUILDS, SHAPES, VERDICTS
from starskip.advisor.families.skipping.report.section_data import (
    MAX_REFUSED_INDEXES,
    MAX_REPLAYED_SHAPES,
    MAX_SKIPPED_SHAPES,
    MAX_SKIPPING_INDEXES,
    ChosenSkippingIndex,
    EvaluatedQueries,
    OtherSkippingIndex,
    RefusedSkippingIndex,
    ReplayedShape,
    SkippedShape,
    SkippingFactors,
    SkippingIndexes,
)
from starskip.advisor.run.artefact_rows import Row, published_rows
from starskip.advisor.run.night import Night
from starskip.advisor.verification.unproved_words import is_asked, unproved_sentences
from starskip.errors import ConfigError
from starskip.skipping.registry import index_from_specification

_WORST_FIRST = ("failed", "different", "not_comparable", "equal")
"""The verdict of a shape is the worst of its queries."""
_FACTORS = tuple(field.name for field in fields(SkippingFactors))
_VERDICTS = tuple(field.name for field in fields(EvaluatedQueries))


def skipping_report(night: Night, table: str) -> SkippingIndexes | None:
    """Return the section of ``table``, None for a night without advice or builds of skipping indexes.

    Any artefact may be missing, since the night may have been stopped.
    """
    advice, advised = published_rows(night, ADVICE, table)
    shapes, _ = published_rows(night, SHAPES, table)
    builds, built = published_rows(night, BUILDS, table)
    verdicts, _ = published_rows(night, VERDICTS, table)
    # Spark runs with all indexes of files: what a secondary index serves shows the work of both families.
    by_secondary, _ = published_rows(night, "secondary_verdicts", table)
    of_secondary = {row["shape_id"] for row in by_secondary if is_asked(row)}
    if not (advice or advised or builds or built):
        return None
    chosen = sorted((row for row in advice if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    refused = [row for row in advice if row["verdict"] == "refused"]
    ranked = sorted(shapes, key=lambda row: (-row["bytes_read"], row["shape_id"]))
    all_bytes = sum(row["bytes_read"] for row in shapes)
    every = _replayed(filter(is_asked, verdicts), {row["shape_id"]: row for row in ranked})
    replayed = tuple(each for each in every if each.shape_id not in of_secondary or not _is_sound(each))
    found = (_shape(row, all_bytes) for row in ranked[:MAX_SKIPPED_SHAPES])
    of_index = {row["index"]: row for row in builds}
    names = {row["index"] for row in chosen}
    return SkippingIndexes(
        chosen=tuple(_chosen(row, of_index.get(row["index"])) for row in chosen[:MAX_SKIPPING_INDEXES]),
        others=tuple(_other(row) for row in builds if row["index"] not in names)[:MAX_SKIPPING_INDEXES],
        refused=tuple(map(_refused, refused[:MAX_REFUSED_INDEXES])),
        other_refused=max(0, len(refused) - MAX_REFUSED_INDEXES),
        shapes=tuple(sorted(found, key=lambda each: (-each.left_out, -each.bytes_read, each.shape_id))),
        other_shapes=max(0, len(ranked) - MAX_SKIPPED_SHAPES),
        replayed=replayed[:MAX_REPLAYED_SHAPES],
        other_replayed=max(0, len(replayed) - MAX_REPLAYED_SHAPES),
        note=advised.get("note") or None,
        choice=advised.get("sentence") or None,
        layout=advised.get("layout") or None,
        relayout=tuple(advised.get("relayout") or ()),
        means=_factors(advised.get("means") or {}),
        evaluated=_evaluated(advised.get("counts") or {}),
        sampled_files=advised.get("sampled_files"),
        table_files=_either("files", advised, built),
        table_rows=_either("rows", advised, built),
        table_bytes=advised.get("bytes"),
        queries=_number(advised.get("queries")),
        total_bytes=_number(advised.get("total_bytes")),
        saving_ratio=_number(advised.get("saving_ratio")),
        measured_bytes=advised.get("size_bytes"),
        budget_bytes=advised.get("budget_bytes"),
        location=built.get("location"),
        metadata_bytes=built.get("metadata_bytes"),
        files_read=built.get("files_read"),
        # Without advice, the building stage repeats its reason.
        build_note=built.get("note") if built.get("note") != advised.get("note") else None,
        by_secondary=len(every) - len(replayed),
        not_proved=unproved_sentences(verdicts, {row["shape_id"]: row["bytes_read"] for row in shapes}),
    )


def _chosen(row: Row, build: Row | None) -> ChosenSkippingIndex:
    kind, columns = _kind_and_columns(row["index"])
    return ChosenSkippingIndex(
        specification=row["index"],
        kind=kind,
        columns=columns,
        outcome=build["outcome"] if build else "not_built",
        detail=build["detail"] if build else None,
        individual_saving_ratio=row["individual_saving_ratio"],
        progressive_saving_ratio=row["progressive_saving_ratio"],
        measured_bytes=row["size_bytes"],
        size_bytes=build["size_bytes"] if build else None,
        files=build["files"] if build else None,
        files_known=build["files_known"] if build else None,
    )


def _kind_and_columns(specification: str) -> tuple[str, tuple[str, ...]]:
    try:
        index = index_from_specification(specification)
    except ConfigError:
        # A user's type whose module is not loaded here.
        kind, _, rest = specification.partition(":")
        return kind, (rest,)
    return index.kind, index.columns


def _other(row: Row) -> OtherSkippingIndex:
    found = (row[name] for name in ("outcome", "detail", "size_bytes", "files", "files_known"))
    return OtherSkippingIndex(row["index"], *found)


def _refused(row: Row) -> RefusedSkippingIndex:
    return RefusedSkippingIndex(row["index"], row["reason"] or "", row["detail"] or "", row["size_bytes"])


def _shape(row: Row, all_bytes: int) -> SkippedShape:
    return SkippedShape(
        shape_id=row["shape_id"],
        condition=row["skeleton"],
        queries=row["queries"],
        bytes_read=row["bytes_read"],
        bytes_ratio=row["bytes_read"] / all_bytes if all_bytes else 0.0,
        verdict=row["verdict"],
        detail=row["detail"],
        factors=_factors(row),
        saving_ratio=row["saving_ratio"],
    )


def _factors(row: Mapping[str, Any]) -> SkippingFactors | None:
    values = [_number(row.get(name)) for name in _FACTORS]
    known = [value for value in values if value is not None]
    return SkippingFactors(*known) if len(known) == len(_FACTORS) else None


def _evaluated(counts: Mapping[str, int]) -> EvaluatedQueries:
    return EvaluatedQueries(**{name: counts.get(name, 0) for name in _VERDICTS})


def _replayed(rows: Iterable[Row], shapes: Mapping[str, Row]) -> tuple[ReplayedShape, ...]:
    """Return the shapes: failures first, then those with files left out; not comparable ones last."""
    of_shape: dict[str, list[Row]] = {}
    for row in rows:
        of_shape.setdefault(row["shape_id"], []).append(row)
    rank = {shape_id: position for position, shape_id in enumerate(shapes)}
    shapes_found = [_replayed_shape(shapes.get(shape_id), each) for shape_id, each in of_shape.items()]

    def place(each: ReplayedShape) -> tuple[bool, int, bool, int]:
        return (
            each.verdict == "not_comparable",
            _badness(each.verdict),
            not each.leaves_out,
            rank.get(each.shape_id, len(rank)),
        )

    return tuple(sorted(shapes_found, key=place))


def _replayed_shape(shape: Row | None, rows: Sequence[Row]) -> ReplayedShape:
    worst = min(rows, key=lambda row: _badness(row["verdict"]))
    return ReplayedShape(
        shape_id=worst["shape_id"],
        condition=shape["skeleton"] if shape else "",
        instances=len(rows),
        verdict=worst["verdict"],
        detail=worst["detail"],
        plain_files_read=_mean(rows, "plain_files_read"),
        skipping_files_read=_mean(rows, "skipping_files_read"),
        plain_bytes_read=_mean(rows, "plain_bytes_read"),
        skipping_bytes_read=_mean(rows, "skipping_bytes_read"),
        plain_ms=_mean(rows, "plain_ms"),
        skipping_ms=_mean(rows, "skipping_ms"),
    )


def _is_sound(shape: ReplayedShape) -> bool:
    return shape.verdict in ("equal", "not_comparable")


def _badness(verdict: str) -> int:
    # An unknown verdict of another version must not hide behind good ones.
    return _WORST_FIRST.index(verdict) if verdict in _WORST_FIRST else -1


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return fmean(values) if values else None


def _either(name: str, advised: Mapping[str, Any], built: Mapping[str, Any]) -> int | None:
    return built.get(name) if advised.get(name) is None else advised[name]


def _number(value: float | None) -> float | None:
    # JSON knows no difference between 1 and 1.0.
    return None if value is None else float(value)
