"""Hash SQL text to a key that texts of one shape share; cheaper than normalizing the text.

It selects the texts worth parsing where a log has more shapes than can be kept. Texts that differ in case,
white space, brackets, commas, signs, underscores, quotes of names, comments, query options that decide
nothing, literals or lengths of lists have one key; a few texts of different shapes share a key too, which
does no harm: all texts of a key are kept, or none.
"""

from __future__ import annotations

from hashlib import blake2b

from starskip.sql.normalize_sql import COMMENT_OR_LITERAL, SLOT, has_prefix, normalize_sql

KEY_BITS = 53
"""Few enough for a float to hold; a million keys include two equal ones once in ten thousand logs."""

_DROPPED = b'\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f (),;+-_"`' + SLOT.encode()
_ONLY_NORMALIZED = ('"', "`", SLOT, ";", "option")
"""Begin quoted names, which hold no literals, and query options."""


def skeleton_key(sql: str) -> int:
    """Return the key of ``sql``, of KEY_BITS bits and the same in every process; never raises."""
    lower = sql.lower()
    if sql.isascii() and not any(map(lower.__contains__, _ONLY_NORMALIZED)) and not has_prefix(lower):
        bare = COMMENT_OR_LITERAL.sub("", lower)
    else:
        bare = normalize_sql(sql).skeleton
    text = bare.encode("utf-8", "surrogatepass").translate(None, _DROPPED).lower().replace(b"!=", b"<>")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> (64 - KEY_BITS)
