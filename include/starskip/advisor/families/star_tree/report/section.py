"""The star-trees' section of the report: its values, templates, picture, figures and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starskip.advisor.families.family_section import FamilySection, PairsPicture, ShapePair, template_of
from starskip.advisor.families.headline_pieces import Piece, name_pieces
from starskip.advisor.families.star_tree.report.star_tree_evidence import StarTreeEvidence
from starskip.advisor.families.star_tree.report.star_tree_report import star_tree_report
from starskip.errors import printable
from starskip.number_text import compact_count, percent, share, size_share
from starskip.sql.masking import mask_literals

_MAX_LINES = 12
_MAX_TREES_IN_HEADLINE = 3
_MAX_CHARACTERS = 70


REASONS = {
    "always_false": "a filter that matches nothing",
    "and_in_or": "an AND within an OR",
    "config": "a tree that no table config may hold",
    "constant": "a constant within an OR or a NOT",
    "counted": "counted from an index, without reading a row",
    "distinct": "DISTINCT, or GROUP BY without an aggregation",
    "expression": "an aggregation of an expression",
    "expression_in_filter": "an expression in the filter",
    "filter_clause": "a FILTER clause",
    "from_dictionary": "answered from dictionaries, without reading a row",
    "function": "an aggregation that trees do not keep",
    "is_null": "IS NULL or IS NOT NULL",
    "multi_value": "a multi-value column",
    "not": "a NOT",
    "not_an_aggregation": "rows selected, not aggregated",
    "not_of_several": "a NOT of an AND or an OR",
    "null_handling": "handling of nulls",
    "or": "an OR",
    "or_of_several_columns": "an OR over several columns",
    "own_index": "TEXT_MATCH, JSON_MATCH or the like",
    "parameter": "another parameter than trees keep",
    "pattern": "LIKE or REGEXP_LIKE",
    "raw_column": "a column without a dictionary",
}
"""Words for the codes of why no star-tree answers a query."""


def masked_star_trees(trees: StarTreeEvidence) -> StarTreeEvidence:
    """Return the star-trees with all texts of queries masked."""
    chosen = (
        replace(tree, shapes=tuple(replace(s, masked_text=_masked(s.masked_text)) for s in tree.shapes))
        for tree in trees.chosen
    )
    proved = (replace(each, masked_text=_masked(each.masked_text)) for each in trees.proved)
    only = (
        replace(each, shape=replace(each.shape, masked_text=_masked(each.shape.masked_text)))
        for each in trees.by_starskip_only
    )
    return replace(trees, chosen=tuple(chosen), proved=tuple(proved), by_starskip_only=tuple(only))


def _masked(text: str) -> str:
    return mask_literals(text, quoted_names=True)


def star_tree_picture(trees: StarTreeEvidence) -> PairsPicture:
    """Return rows read from a tree and by a scan, for each shape that was measured both ways."""
    pairs = [
        ShapePair(rank, each.masked_text, each.rows_read_by_scan, each.rows_read_from_tree)
        for rank, each in enumerate(trees.proved, start=1)
        if each.rows_read_by_scan is not None and each.rows_read_from_tree is not None
    ]
    return PairsPicture(
        pairs, "rows read", "Rows read by shape, by a scan and from a star-tree.", compact_count
    )


def _figures(trees: StarTreeEvidence, _: bool) -> Sequence[tuple[str, str]]:
    savings = [tree.saving_ratio for tree in trees.proposed]
    known = [saving for saving in savings if saving is not None]
    if not savings or len(known) < len(savings):
        return ()
    return (("of all entries saved by star-trees, predicted", percent(sum(known))),)


def _summary(trees: StarTreeEvidence) -> Sequence[str]:
    if not trees.chosen:
        return []
    lines = []
    for tree in trees.chosen[:_MAX_LINES]:
        outcome = printable(tree.outcome.replace("_", " "), 20)
        size_bytes = tree.estimated_bytes if tree.size_bytes is None else tree.size_bytes
        order = printable(", ".join(tree.dimensions), _MAX_CHARACTERS)
        lines.append(f"  star-tree {outcome}, {size_share(size_bytes, trees.table_bytes)}: {order}")
    agreed = sum(each.is_agreed for each in trees.proved)
    proved = f"  {agreed} of {len(trees.proved)} query shapes answered from star-trees as by a scan"
    unproved = [f"  {printable(trees.not_proved, 300)}"] if trees.not_proved else []
    return [*lines, *([proved] if trees.proved else []), *unproved, ""]


def _change(trees: StarTreeEvidence) -> tuple[Piece, ...]:
    """Return the sentence on star-trees to add, nothing if there are none."""
    new = trees.proposed
    if not new:
        return ()
    # A tree without advice has an unknown saving, which is not a saving of 0.
    known = [tree.saving_ratio for tree in new if tree.saving_ratio is not None]
    what = [Piece("Add a star-tree on " if len(new) == 1 else f"Add {len(new)} star-trees, on ")]
    for number, tree in enumerate(new[:_MAX_TREES_IN_HEADLINE]):
        if number:
            what.append(Piece("; on "))
        what += name_pieces(tree.dimensions)
    if len(new) > _MAX_TREES_IN_HEADLINE:
        what.append(Piece(" and others"))
    if not known:
        return (*what, Piece("."))
    saves = "it saves" if len(new) == 1 else "they save"
    return (
        *what,
        Piece(f": {saves} {share(sum(known))} of all entries scanned, in filters and behind them."),
    )


SECTION = FamilySection(
    collect=lambda source: star_tree_report(source.night, source.table, source.advice, source.workload),
    html=template_of(__package__, "section.html.j2"),
    markdown=template_of(__package__, "section.md.j2"),
    field="star_trees",
    masked=masked_star_trees,
    picture=star_tree_picture,
    figures=_figures,
    summary=_summary,
    kinds=REASONS,
    change=_change,
)
