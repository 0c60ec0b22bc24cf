"""Recognise query texts from which the broker redacted literals, or everything.

Pinot's ``pinot.broker.query.log.sqlRedaction`` (QueryLogger, since 2026) set to ``literal_values`` logs
Calcite's text of the parsed query with ``?`` for each literal and for the whole list of an IN. Set to
``full`` it logs one word for every query. A query that it could not parse is logged as another word. A
question mark outside of quotes stands nowhere else in Pinot's SQL.
"""

from __future__ import annotations

from collections.abc import Iterable

REDACTED = "?"
"""A literal that was not logged; no number or string of sql.normalize_sql begins so."""

_WHOLE_TEXTS = frozenset(("REDACTED", "FINGERPRINT_FAILED_QUERY_REDACTED"))


def is_wholly_redacted(text: str) -> bool:
    """Return whether only the query's counters were logged."""
    return text.strip() in _WHOLE_TEXTS


def is_redacted(literals: Iterable[str]) -> bool:
    """Return whether one of the literals was not logged."""
    return any(literal.startswith(REDACTED) for literal in literals)


def mark_redacted(literals: tuple[tuple[str, ...], ...], counters: str) -> tuple[tuple[str, ...], ...]:
    """Return the literals, with the query's ``counters`` appended to each one that was not logged.

    Queries of one shape whose literals are all ``?`` would count as one query, with the mean of their
    entries. The counters keep them apart, as literals do.
    """
    if not any(map(is_redacted, literals)):
        return literals
    return tuple(tuple(REDACTED + counters if v == REDACTED else v for v in values) for values in literals)
