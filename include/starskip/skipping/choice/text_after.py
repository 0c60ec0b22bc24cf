"""What follows all texts that begin alike, in the order of UTF-8 bytes, which is that of code points."""

from __future__ import annotations

_LAST_CHARACTER = "\U0010ffff"


def text_after(prefix: str) -> str | None:
    """Return the least text above all that begin with ``prefix``, None if there is none."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    if not kept:
        return None
    # Surrogates, which no text in UTF-8 has, follow U+D7FF.
    return kept[:-1] + ("\ue000" if kept[-1] == "\ud7ff" else chr(ord(kept[-1]) + 1))
