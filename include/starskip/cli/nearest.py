"""Names that a mistyped one may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST, _LEAST_LIKENESS = 3, 0.7


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'tune'?`` with the known names that are like ``name``, else nothing.

    A name's beginning is like it, and capitals do not matter.
    """
    asked, plain = name.casefold(), {each.casefold(): each for each in known}
    near = [each for each in plain if asked and each.startswith(asked)]
    quoted = [f"'{plain[each]}'" for each in near or get_close_matches(asked, plain, cutoff=_LEAST_LIKENESS)]
    return f" Did you mean {' or '.join(quoted[:_MOST])}?" if quoted else ""
