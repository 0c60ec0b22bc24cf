"""The skipping indexes' section of the report: its values, templates, picture, figures and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starskip.advisor.families.family_section import FamilySection, PairsPicture, ShapePair, template_of
from starskip.advisor.families.skipping.report.collect_section import skipping_report
from starskip.advisor.families.skipping.report.section_data import SkippingIndexes
from starskip.errors import printable
from starskip.number_text import count, percent, share, size, size_share
from starskip.sql.masking import mask_condition

KINDS = {
    "minmax": "least and greatest value",
    "nulls": "number of nulls",
    "valuelist": "all values",
    "bloom": "Bloom filter",
    "hybrid": "all values, or a Bloom filter of many",
    "prefix": "first characters",
    "suffix": "last characters",
    "gaplist": "gaps between values",
    "geobox": "boxes around points",
    "formatted": "what values mean",
    "metricdist": "distances from one value",
    "partition": "the one value",
}
_MAX_LINES = 12
_MAX_CHARACTERS = 70


def masked_skipping(indexes: SkippingIndexes) -> SkippingIndexes:
    """Return the indexes with all conditions of queries masked."""
    shapes = (replace(each, condition=mask_condition(each.condition)) for each in indexes.shapes)
    replayed = (replace(each, condition=mask_condition(each.condition)) for each in indexes.replayed)
    return replace(indexes, shapes=tuple(shapes), replayed=tuple(replayed))


def skipping_picture(indexes: SkippingIndexes) -> PairsPicture:
    """Return bytes that Spark read without skipping and with it, by shape that ran both ways."""
    pairs = [
        ShapePair(rank, each.condition, each.plain_bytes_read, each.skipping_bytes_read)
        for rank, each in enumerate(indexes.replayed, start=1)
        if each.plain_bytes_read is not None and each.skipping_bytes_read is not None
    ]
    alt = "Bytes that Spark read by shape, without skipping and with it."
    return PairsPicture(pairs, "bytes read", alt, lambda each: size(round(each)))


def _figures(indexes: SkippingIndexes, lake_only: bool) -> Sequence[tuple[str, str]]:
    figures = []
    if lake_only and indexes.queries is not None:
        figures.append(("queries by Spark", count(indexes.queries)))
    if lake_only and indexes.table_files is not None:
        figures.append(("files", count(indexes.table_files)))
    if indexes.chosen and indexes.saving_ratio is not None:
        figures.append(("fewer bytes read by Spark, predicted", percent(indexes.saving_ratio)))
        if indexes.metadata_bytes is not None:
            taken = size_share(indexes.metadata_bytes, indexes.table_bytes)
            figures.append(("skipping metadata, and its share of the lake table", taken))
    return figures


def _summary(skipping: SkippingIndexes) -> Sequence[str]:
    if not skipping.chosen:
        return []
    lines = []
    for each in skipping.chosen[:_MAX_LINES]:
        outcome = printable(each.outcome.replace("_", " "), 20)
        size_bytes = each.measured_bytes if each.size_bytes is None else each.size_bytes
        name = printable(each.specification, _MAX_CHARACTERS)
        lines.append(f"  skipping index {outcome}, {size_share(size_bytes, skipping.table_bytes)}: {name}")
    if (more := len(skipping.chosen) - _MAX_LINES) > 0:
        lines.append(f"  and {more} more")
    if skipping.layout is not None:
        lines.append(f"  {printable(skipping.layout, 300)}")
    equal = sum(each.is_equal for each in skipping.replayed)
    replayed = f"  {equal} of {len(skipping.replayed)} query shapes answered with skipping as without it"
    unproved = [f"  {printable(skipping.not_proved, 300)}"] if skipping.not_proved else []
    return [*lines, *([replayed] if skipping.replayed else []), *unproved, ""]


def _chosen(indexes: SkippingIndexes) -> Sequence[tuple[str, tuple[str, ...]]]:
    return [(f"{each.kind} skipping", each.columns) for each in indexes.chosen]


def _gain(indexes: SkippingIndexes) -> tuple[str, str] | None:
    """Return the gain of the chosen indexes as subject and predicate; None if no index is chosen."""
    if not indexes.chosen or indexes.saving_ratio is None:
        return None
    number = len(indexes.chosen)
    subject = "A skipping index lets" if number == 1 else f"{number} skipping indexes let"
    return f"{subject} Spark queries", f"read {share(indexes.saving_ratio)} fewer bytes."


SECTION = FamilySection(
    collect=lambda source: skipping_report(source.night, source.table),
    html=template_of(__package__, "section.html.j2"),
    markdown=template_of(__package__, "section.md.j2"),
    field="skipping",
    masked=masked_skipping,
    picture=skipping_picture,
    figures=_figures,
    summary=_summary,
    chosen=_chosen,
    kinds=KINDS,
    is_of_lake=True,
    gain=_gain,
    note=lambda indexes: indexes.note,
    queries=lambda indexes: indexes.queries or 0.0,
)
