"""Convert the text of a logged query to SQL, if it is PQL."""

from __future__ import annotations

from starskip.sql.pql import is_pql, sql_from_pql

_ONLY_PQL = frozenset(("2016-12", "2018-08", "2018-09", "2018-10", "0.1.0", "0.8.0-pql"))
"""Lines of brokers that had no SQL yet (it came with 0.2.0), and of the PQL handler of 0.8 and 0.9."""

_EITHER = frozenset(("0.2.0", "0.4.0", "0.5.0", "0.6.0", "0.10.0", "json-event"))
"""Lines of either language: the text decides. Lines of 0.8's SQL handler and from 0.11 on are SQL."""


def sql_text(text: str, line_format: str | None) -> str:
    """Return ``text`` as Pinot's SQL; ``line_format``: the record's (LOG_RECORDS)."""
    if line_format in _ONLY_PQL or (line_format in _EITHER and is_pql(text)):
        return sql_from_pql(text)
    return text
