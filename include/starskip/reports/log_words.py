"""Sentences on losses of the log: dropped lines, redacted texts, and leaves of multi-stage queries."""

from __future__ import annotations

from starskip.advisor.workload.unlogged_texts import UnloggedTexts
from starskip.number_text import percent

SETTING = "pinot.broker.query.log.sqlRedaction"
"""The broker's setting that takes literals or whole texts out of its log."""

NO_TEXT_AT_ALL = (
    "the broker logs the queries of this table without their text, so no advice is possible: set"
    f" {SETTING} to none, or to literal_values"
)


def redaction_words(texts: UnloggedTexts) -> tuple[str, ...]:
    """Return a sentence for each kind of redaction by the broker, none if it logged all."""
    found = []
    if texts.literals_queries:
        found.append(
            _begun(texts.literals_queries, texts.literals_entries_ratio)
            + f" logged without literals ({SETTING}): their savings are estimated from cardinalities and from"
            " literals drawn from the rows to fit the log's counters, so the intervals are wider."
        )
    if texts.is_everything:
        found.append(f"{NO_TEXT_AT_ALL[:1].upper()}{NO_TEXT_AT_ALL[1:]}.")
    elif texts.texts_queries:
        found.append(
            _begun(texts.texts_queries, texts.texts_entries_ratio)
            + f" logged without any text ({SETTING}): they vote for nothing and count as never saved."
        )
    return tuple(found)


def leaf_words(leaves: int) -> str:
    """Return how many queries were leaves of multi-stage queries, empty if none was."""
    if not leaves:
        return ""
    what = "was a leaf of a multi-stage query" if leaves == 1 else "were leaves of multi-stage queries"
    return (
        f"{_queries(leaves)} {what}, whose entries are shared out among the tables"
        " that they filter, in proportion to the tables' rows."
    )


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number:,} queries"


def _begun(queries: int, entries_ratio: float) -> str:
    was = "was" if queries == 1 else "were"
    return f"{_queries(queries)} with {percent(entries_ratio, 0)} of the entries {was}"
