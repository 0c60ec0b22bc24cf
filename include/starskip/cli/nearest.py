"""Names that a mistyped one may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
_SIMILARITY = 0.6


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'tune'?`` with the known names that are like ``name``, else nothing.

    Capitals, hyphens and underscores do not matter: ``parse_log`` is like ``parse-log``. So is a beginning.
    """
    plain = {each: _plain(each) for each in known}
    asked = _plain(name)
    if not asked:
        return ""
    near = [each for each, of in plain.items() if of == asked]
    near = near or [each for each, of in plain.items() if of.startswith(asked) and len(asked) > 1]
    if not near:
        like = get_close_matches(asked, plain.values(), n=_MOST, cutoff=_SIMILARITY)
        near = sorted(
            (each for each, of in plain.items() if of in like), key=lambda each: like.index(plain[each])
        )
    quoted = [f"'{each}'" for each in near[:_MOST]]
    return f" Did you mean {' or '.join(quoted)}?" if quoted else ""


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()
