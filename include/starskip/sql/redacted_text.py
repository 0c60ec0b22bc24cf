"""Recognise query texts from which the broker redacted literals, or everything.

Pinot's ``pinot.broker.query.log.sqlRedaction`` (QueryLogger, since 2026) logs, as ``literal_values``, what
Calcite writes of the parsed query with ``?`` for each literal and for the whole list of an IN; as ``full``
one word for every query; and another word for a query that it could not parse. A question mark
outside of quotes stands nowhere else in Pinot's SQL.
"""

from __future__ import annotations

from collections.abc import Iterable

REDACTED = "?"
"""A literal that was not logged; no number or string of sql.normalize_sql begins so."""

_WHOLE_TEXTS = frozenset(("REDACTED", "FINGERPRINT_FAILED_QUERY_REDACTED"))


def is_wholly_redacted(text: str) -> bool:
    """Return whether nothing of the query was logged but its counters."""
    return text.strip() in _WHOLE_TEXTS


def is_redacted(literals: Iterable[str]) -> bool:
    """Return whether one of the literals was not logged."""
    return any(literal.startswith(REDACTED) for literal in literals)


def mark_redacted(literals: tuple[tuple[str, ...], ...], counters: str) -> tuple[tuple[str, ...], ...]:
    """Return the literals, with the ``counters`` of their query behind each one that was not logged.

    Queries of a shape whose literals are all ``?`` would count as one, with the mean of their entries. With
    their counters as marks they are a sample as literals are.
    """
    if not any(map(is_redacted, literals)):
        return literals
    return tuple(tuple(REDACTED + counters if v == REDACTED else v for v in values) for values in literals)
