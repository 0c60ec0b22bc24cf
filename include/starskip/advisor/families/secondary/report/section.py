"""The secondary indexes' section of the report: values, templates, picture, figures and lines.

The values are plain mappings, which the report's JSON holds under ``sections``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.families.family_section import (
    FamilySection,
    PairsPicture,
    SectionSource,
    ShapePair,
    template_of,
)
from starskip.advisor.run.artefact_rows import published_rows
from starskip.advisor.verification.unproved_words import is_asked, unproved_sentences
from starskip.errors import printable
from starskip.number_text import share, size
from starskip.secondary.secondary_index import secondary_index
from starskip.sql.masking import mask_condition

KINDS = {
    "btree": "values in order",
    "ngram": "pieces of texts",
    "rtree": "points",
    "primary": "bounds of row groups",
}
_SOUND = ("equal", "not_comparable")
_MOST = 50
_MAX_LINES = 12
_CHOSEN = ("index", "individual_saving_ratio", "progressive_saving_ratio", "size_bytes", "build_seconds")
_BUILT = ("outcome", "files", "files_known")
_REPLAYED = (
    *("shape_id", "instance", "verdict", "detail", "plain_files_read", "skipping_files_read"),
    *("plain_bytes_read", "skipping_bytes_read", "plain_ms", "skipping_ms"),
)


def secondary_report(source: SectionSource) -> Mapping[str, Any] | None:
    """Return the section of a table, None if nothing was advised and no index is there."""
    night, table = source.night, source.table
    advice, advised = published_rows(night, "secondary_advice", table)
    builds, built = published_rows(night, "secondary_builds", table)
    verdicts, _ = published_rows(night, "secondary_verdicts", table)
    if not (advice or builds):
        return None
    shapes, _ = published_rows(night, "skipping_shapes", table)
    conditions = {row["shape_id"]: row["skeleton"] for row in shapes}
    of_index = {row["index"]: row for row in builds}
    chosen = sorted((row for row in advice if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    names = {row["index"] for row in chosen}
    return {
        "chosen": [_chosen(row, of_index.get(row["index"])) for row in chosen[:_MOST]],
        "others": [_index(row, "outcome") for row in builds if row["index"] not in names][:_MOST],
        "refused": [_index(row, "reason") for row in advice if row["verdict"] == "refused"][:_MOST],
        "replayed": [
            {**{name: row[name] for name in _REPLAYED}, "condition": conditions.get(row["shape_id"], "")}
            for row in sorted(filter(is_asked, verdicts), key=_worst_first)[:_MOST]
        ],
        "not_proved": unproved_sentences(verdicts, {row["shape_id"]: row["bytes_read"] for row in shapes}),
        "files_sampled": advised.get("files_sampled"),
        "saving_ratio": advised.get("saving_ratio"),
        "budget_bytes": advised.get("budget_bytes"),
        "choice": advised.get("sentence"),
        "note": advised.get("note"),
        "build_note": built.get("note"),
        "location": built.get("location"),
        "files_read": built.get("files_read"),
    }


def _worst_first(row: Mapping[str, Any]) -> tuple[bool, bool]:
    """Place faults first, then queries of which files are left out."""
    leaves_out = (row["skipping_files_read"] or 0) < (row["plain_files_read"] or 0)
    return row["verdict"] in _SOUND, not leaves_out


def _chosen(row: Mapping[str, Any], build: Mapping[str, Any] | None) -> dict[str, Any]:
    index = secondary_index(row["index"])
    return {
        **{name: row[name] for name in _CHOSEN},
        "kind": index.kind_of_index.value,
        "columns": list(index.columns),
        **{name: build[name] if build else None for name in _BUILT},
        "outcome": build["outcome"] if build else "not_built",
        "detail": build["detail"] if build else None,
        "built_bytes": build["size_bytes"] if build else None,
    }


def _index(row: Mapping[str, Any], what: str) -> dict[str, Any]:
    names = ("index", what, "detail", "size_bytes")
    return {**{name: row[name] for name in names}, "specification": row["index"]}


def _masked(section: Mapping[str, Any]) -> Mapping[str, Any]:
    replayed = [{**each, "condition": mask_condition(each["condition"])} for each in section["replayed"]]
    return {**section, "replayed": replayed}


def _picture(section: Mapping[str, Any]) -> PairsPicture:
    pairs = [
        ShapePair(rank, each["condition"], each["plain_bytes_read"], each["skipping_bytes_read"])
        for rank, each in enumerate(section["replayed"], start=1)
        if each["plain_bytes_read"] is not None and each["skipping_bytes_read"] is not None
    ]
    alt = "Bytes that Spark read by query, without indexes of files and with them."
    return PairsPicture(pairs, "bytes read", alt, lambda each: size(round(each)))


def _gain(section: Mapping[str, Any]) -> tuple[str, str] | None:
    if not section["chosen"] or section["saving_ratio"] is None:
        return None
    number = len(section["chosen"])
    subject = "A secondary index lets" if number == 1 else f"{number} secondary indexes let"
    return f"{subject} Spark queries", f"read {share(section['saving_ratio'])} fewer rows."


def _chosen_columns(section: Mapping[str, Any]) -> Sequence[tuple[str, tuple[str, ...]]]:
    return [(f"{each['kind']} secondary", tuple(each["columns"])) for each in section["chosen"]]


def _summary(section: Mapping[str, Any]) -> Sequence[str]:
    lines = []
    for each in section["chosen"][:_MAX_LINES]:
        taken = each["built_bytes"] if each["built_bytes"] is not None else each["size_bytes"]
        outcome = each["outcome"].replace("_", " ")
        lines.append(f"  secondary index {outcome}, {size(taken)}: {printable(each['index'], 70)}")
    equal = sum(each["verdict"] == "equal" for each in section["replayed"])
    if section["replayed"]:
        lines.append(f"  {equal} of {len(section['replayed'])} queries answered with them as without")
    if section.get("not_proved"):
        lines.append(f"  {printable(section['not_proved'], 300)}")
    return [*lines, ""] if lines else []


SECTION = FamilySection(
    collect=secondary_report,
    html=template_of(__package__, "section.html.j2"),
    markdown=template_of(__package__, "section.md.j2"),
    masked=_masked,
    picture=_picture,
    summary=_summary,
    chosen=_chosen_columns,
    kinds=KINDS,
    is_of_lake=True,
    gain=_gain,
    note=lambda section: section["note"],
)
