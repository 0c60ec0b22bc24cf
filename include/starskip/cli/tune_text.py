"""The advice for one table as ``starskip tune`` prints it for people."""

from __future__ import annotations

from starskip.errors import printable
from starskip.indexes.index import Structure
from starskip.number_text import percent, percent_range, size
from starskip.reports.log_words import leaf_words, redaction_words
from starskip.selection.advise_table import TableAdvice
from starskip.selection.recommendation import Refusal


def tune_text(advice: TableAdvice, index_kind: str, *, is_guess: bool) -> str:
    """Return the lines of one table; ``is_guess``: without a log."""
    saving = advice.recommendation.saving
    not_understood = advice.unparsed - advice.unlogged_texts.texts_queries
    columns = [_named(item.structure, index_kind) for item in advice.recommendation.chosen]
    lines = [
        f"{printable(advice.table, 200)}: "
        + (
            "no log"
            if is_guess
            else f"{advice.queries:,} queries scanned {advice.entries:,} entries in filters"
        )
        + (f" ({not_understood:,} not understood)" if not_understood else "")
    ]
    if advice.unlogged_queries:
        lines.append(
            f"  with those that the broker did not log, about {advice.queries + advice.unlogged_queries:,.0f}"
            f" queries scanned {advice.entries + advice.unlogged_entries:,.0f} entries"
        )
    of_log = (*redaction_words(advice.unlogged_texts), leaf_words(advice.leaves))
    lines.extend(f"  {words}" for words in of_log if words)
    if columns:
        what = {"sorted": "sort by", "all": "indexes on"}.get(index_kind, f"{index_kind} indexes on")
        lines.append(
            f"  {what} {', '.join(columns)}: {percent(saving.ratio)} fewer entries scanned"
            f" (90 % interval {percent_range(saving.low, saving.high)})"
        )
        lines.extend(
            f"    {rank}. {_named(item.structure, index_kind)}:"
            f" alone {percent(item.individual_saving_ratio)}, adds {percent(item.progressive_saving_ratio)}"
            + ("" if item.size_bytes is None else f", takes {size(item.size_bytes)}")
            for rank, item in enumerate(advice.recommendation.chosen, start=1)
        )
    elif advice.refused and advice.refused[0].reason is Refusal.NOT_ENOUGH_QUERIES:
        return "\n".join([*lines, f"  {printable(advice.refused[0].detail.partition(';')[0])}"])
    elif not advice.unlogged_texts.is_everything:
        lines.append("  nothing to recommend: no index saves enough")
    lines.extend(
        f"  refused {_named(item.structure, index_kind)}: {item.reason.value} ({printable(item.detail)})"
        for item in advice.refused
    )
    lines.extend(
        f"  drop the {drop.structure.kind} index on {printable(drop.structure.column, 80)}: {drop.detail}"
        for drop in advice.drops
    )
    return "\n".join(lines)


def _named(structure: Structure, index_kind: str) -> str:
    column = printable(structure.column, 80)
    return f"{column} ({structure.kind})" if index_kind == "all" else column
