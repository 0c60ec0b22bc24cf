"""``lineitem, airlineStats``: table names as command lines give them."""

from __future__ import annotations


def listed_tables(text: str) -> tuple[str, ...]:
    """Return the names in a list by commas, each once, in its order; none for a blank text."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
